"""Tests of all scripts: each starts, and Java programs are files that compile."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from bench.session import JAVA as BENCH
from endurance.redeploy.cli import DRIVER as REDEPLOY
from other_observers.program import JAVA as OBSERVERS
from real_programs.programs import PROGRAMS, QUICK
from real_programs.spec import DATA
from support import paths, servers
from support.java import expand

SCRIPTS = paths.SCRIPTS
COMMANDS = ("cycles", "observers", "real-programs", "real-servers", "redeploy", "stress", "comments", "screenshot", "read-exports")
PACKAGES = ("bench", "trail_dump")
# The Java programs that need libraries. All others need nothing but the JDK.
NEED_LIBRARIES = {
    "CountServlet.java", "Counting.java", "DevtoolsDriver.java", "LuceneDriver.java", "NettyDriver.java",
    "OpenSearchDriver.java", "Probe.java", "RedeployDriver.java", "TomcatDriver.java", "TomcatServer.java",
    "VisualVmClient.java", "WordsTest.java", "Hello.java", "RunRules.java",
}
JAVAC = shutil.which("javac")


def java_files(folder):
    """The Java programs and their templates."""
    return sorted([*folder.rglob("*.java"), *folder.rglob("*.java.in")])


def expanded(sources, folder):
    """The sources, with templates expanded into a folder. Of hundreds of classes, templates get
    only two."""
    found = []
    for source in sources:
        if source.suffix == ".in":
            target = folder / source.stem
            target.write_text(expand(source.read_text().replace("for C in 0..499", "for C in 0..1")))
            source = target
        found.append(source)
    return found


def javac(*words):
    return subprocess.run([JAVAC, "-nowarn", "-proc:none", *map(str, words)], capture_output=True, text=True)


class Commands(unittest.TestCase):
    def start(self, *words):
        """Starts a script from another folder, without the tests' own path."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)

    def test_each_command_says_what_it_does(self):
        for command in COMMANDS:
            with self.subTest(command):
                done = self.start(SCRIPTS / command, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"usage: {command}", done.stdout)

    def test_the_benchmark_is_a_folder(self):
        done = self.start(sys.executable, SCRIPTS / "bench", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("usage: python3 scripts/bench", done.stdout)

    def test_the_reader_of_trails_is_a_folder(self):
        trail = paths.ROOT / "crates/formats/tests/trail/version-2.trail"
        done = self.start(sys.executable, SCRIPTS / "trail_dump", trail)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(" enter ", done.stdout)
        self.assertIn("usage: python3 scripts/trail_dump FILE", self.start(sys.executable, SCRIPTS / "trail_dump").stderr)
        with tempfile.NamedTemporaryFile() as short:
            short.write(trail.read_bytes()[:-100])
            short.flush()
            done = self.start(sys.executable, SCRIPTS / "trail_dump", short.name)
        self.assertRegex(done.stderr, "^trail_dump: ")

    def test_each_python_command_is_known_here(self):
        def is_python(path):
            return path.is_file() and not path.suffix and path.read_text().startswith("#!/usr/bin/env python3")
        self.assertEqual({path.name for path in SCRIPTS.iterdir() if is_python(path)}, set(COMMANDS))
        self.assertEqual({path.parent.name for path in SCRIPTS.glob("*/__main__.py")}, set(PACKAGES))

    def test_the_list_of_programs(self):
        done = self.start(SCRIPTS / "real-programs", "--list")
        self.assertEqual(done.stdout.split(), list(PROGRAMS))
        self.assertLessEqual(QUICK.keys(), PROGRAMS.keys())


class Imports(unittest.TestCase):
    def test_a_package_imports_what_is_shared_and_itself_only(self):
        packages = {path.parent.name for path in SCRIPTS.glob("*/__init__.py")} - {"tests"}
        self.assertGreater(len(packages), 6)
        for package in packages:
            for path in (SCRIPTS / package).rglob("*.py"):
                nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, (ast.Import, ast.ImportFrom))]
                names = {name for node in nodes
                         for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])}
                self.assertLessEqual({name.split(".")[0] for name in names} & packages, {package, "support"}, path)

    def test_the_oldest_python_can_parse_all(self):
        # Debian 11 and the documents say 3.9.
        for path in SCRIPTS.rglob("*.py"):
            ast.parse(path.read_text(), feature_version=(3, 9))


class JavaFiles(unittest.TestCase):
    def test_each_that_a_script_names_is_there(self):
        named = {spec.sources for spec in PROGRAMS.values() if spec.sources}
        named |= {servers.SOURCES, paths.JAVA / "web", REDEPLOY, OBSERVERS / "Observed.java", OBSERVERS / "Counting.java",
                  BENCH / "peers" / "Probe.java.in", BENCH / "peers" / "VisualVmClient.java", BENCH / "BenchWork.java"}
        for path in named:
            with self.subTest(path):
                self.assertTrue(java_files(path) if path.is_dir() else path.is_file())

    def test_each_file_of_data_is_used(self):
        code = "".join(path.read_text() for path in (SCRIPTS / "real_programs").glob("*.py"))
        for path in DATA.rglob("*.*"):
            # Python writes compiled files beside scripts.
            if path.is_file() and path.parent.name != "__pycache__":
                self.assertIn(f'"{path.name}"' if path.parent == DATA / "gradle" else path.name, code)

    @unittest.skipUnless(JAVAC, "there is no javac")
    def test_all_are_java(self):
        # Only parses them, because their libraries are not available here.
        with tempfile.TemporaryDirectory() as folder:
            sources = expanded(java_files(SCRIPTS), Path(folder))
            self.assertGreater(len(sources), 30)
            done = javac("-XDshould-stop.ifNoError=PARSE", "-d", folder, *sources)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(JAVAC, "there is no javac")
    def test_those_that_need_no_library_compile(self):
        for folder in sorted({path.parent for path in java_files(SCRIPTS)}):
            own = [path for path in java_files(folder)
                   if path.parent == folder and path.name.removesuffix(".in") not in NEED_LIBRARIES]
            if own:
                with self.subTest(folder), tempfile.TemporaryDirectory() as classes:
                    done = javac("--release", "11", "-d", classes, *expanded(own, Path(classes)))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertGreaterEqual(len(list(Path(classes).rglob("*.class"))), len(own))

    def test_no_script_has_java_in_a_string(self):
        # A declaration of a class or a method, with its opening brace.
        java = re.compile(r"\b(class|interface|enum|@interface) \w+[^\n;:]*\{|\b(static|public|private|void) [\w<>\[\] ]+\([^\n]*\)[^\n;]*\{")
        files = [path for path in SCRIPTS.rglob("*") if path.suffix == ".py" or path.is_file() and path.parent == SCRIPTS]
        self.assertGreater(len(files), 60)
        for path in files:
            text = path.read_text()
            if path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
                strings = [node.value for node in ast.walk(ast.parse(text))
                           if isinstance(node, ast.Constant) and isinstance(node.value, str)]
            else:
                strings = [text]
            if path.name != Path(__file__).name:
                for string in strings:
                    self.assertNotRegex(string, java, path)


if __name__ == "__main__":
    unittest.main()
