"""Builds a project by Gradle: a client, a daemon, and a test worker for each class. A program of
its own, run by path.

Arguments: a folder to work in, and that of the sources. Prints the results of the tests, sorted.
Stops the daemon, which the client leaves running, and ends when all JVMs have ended.
"""

import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

TESTS = ("FirstTest", "SecondTest", "ThirdTest")


def lay_out(folder, sources):
    """Writes the project: a class, and a test of it under several names."""
    for name in ("src/main/java", "src/test/java"):
        (folder / name).mkdir(parents=True)
    shutil.copy(sources / "build.gradle", folder)
    shutil.copy(sources / "Words.java", folder / "src/main/java")
    test = (sources / "WordsTest.java").read_text()
    for name in TESTS:
        (folder / f"src/test/java/{name}.java").write_text(test.replace("WordsTest", name))


def running(home):
    """The other processes that have this home of Gradle in their environment."""
    wanted, found = f"GRADLE_USER_HOME={home}".encode(), []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    found.append(process.name)
            except OSError:
                pass  # the process has ended, or is not ours
    return found


def main():
    work, sources = map(Path, sys.argv[1:])
    project, home = work / "project", work / "gradle-home"
    lay_out(project, sources)
    environment = os.environ | {"GRADLE_USER_HOME": str(home)}

    def gradle(*words):
        done = subprocess.run(["gradle", *words], cwd=project, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        print(*words, "exit", done.returncode, flush=True)
        for line in done.stderr.splitlines():
            print(line.replace(str(work), ""), file=sys.stderr)
        return done

    built = gradle("--offline", "test")
    for line in sorted(line for line in built.stdout.splitlines() if line.startswith((":", "6 tests"))):
        print(line)
    for result in sorted((project / "build/test-results/test").glob("*.xml")):
        for case in ElementTree.parse(result).getroot().iter("testcase"):
            failure = case.find("failure")
            print(case.get("classname"), case.get("name"), "passed" if failure is None else failure.get("message"))
    gradle("--stop")
    end = time.monotonic() + 120
    while running(home) and time.monotonic() < end:
        time.sleep(0.1)
    print("left running:", len(running(home)))
    sys.exit(built.returncode)


if __name__ == "__main__":
    main()
