"""Tests of the programs that scripts/real-programs runs by path."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from real_programs import gradle, hosted
from real_programs.spec import DATA

# Answers each request with its path. When it is told to end, it exits with a JVM's code.
SERVER = """
import http.server, signal, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if self.path.endswith("fail") else 200)
        self.end_headers()
        self.wfile.write(self.path.encode())
    def log_message(self, *_):
        pass
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class Sessions(unittest.TestCase):
    def run_session(self, *server):
        return subprocess.run([sys.executable, hosted.SESSION, "payara", *server], capture_output=True, text=True)

    def test_answers_are_printed_and_the_server_is_stopped(self):
        done = self.run_session(sys.executable, "-c", SERVER, "@PORT@")
        lines = done.stdout.splitlines()
        self.assertEqual((done.returncode, len(lines), lines[-1]), (0, 31, "exit 143"), done.stderr)
        self.assertEqual(lines[:2], ["/web/count/b/0/a 200 /web/count/b/0/a", "/web/count/fail 500 "])

    def test_a_server_that_does_not_start_is_a_failure(self):
        done = self.run_session(sys.executable, "-c", "import sys; sys.exit(7)")
        self.assertEqual((done.returncode, done.stdout), (7, "no 200 of /web/count/x\nexit 7\n"))

    def test_the_project_of_gradle_has_a_class_for_each_test(self):
        with tempfile.TemporaryDirectory() as folder:
            gradle.lay_out(Path(folder), DATA / "gradle")
            self.assertTrue(Path(folder, "build.gradle").is_file())
            for name in gradle.TESTS:
                self.assertIn(f"class {name} ", Path(folder, f"src/test/java/{name}.java").read_text())


if __name__ == "__main__":
    unittest.main()
