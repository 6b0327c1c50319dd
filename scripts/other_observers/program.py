"""The program that is observed, and what is known of it."""

import os
import subprocess
from pathlib import Path

from support import downloads
from support.java import compile_java
from support.processes import environment

JAVA = Path(__file__).parent / "java"
MAIN = "Observed"
ROUNDS = 100
# Calls of each method, and how many of them an exception leaves.
CALLS = {"direct": 100, "through": 100, "inside": 100, "ends": 299, "sum": 100, "locked": 200, "nested": 100,
         "round": 100, "main": 1}
LEFT_BY_EXCEPTION = {"direct": ROUNDS, "through": ROUNDS}
TIMEOUT = 180


class Failure(Exception):
    """An observer that does not work."""


def run(command, folder):
    """Runs a command to its end, whatever its exit code is."""
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT,
                          env=environment())


class Setting:
    """What observers get: the JDK, the compiled program, their jars."""

    def __init__(self, jdk, cache):
        self.jdk, self.cache = jdk, cache
        self.classes = cache / f"observed-{jdk.feature}"
        compile_java(jdk, JAVA / "Observed.java", [], self.classes)

    def jars(self, name, *artifacts):
        """The folder with the jars of an observer."""
        return downloads.fetch(self.cache / name, list(artifacts))

    def java(self, agents, folder, more=(), class_path=()):
        """Runs the program with these agents and options."""
        path = os.pathsep.join(map(str, [self.classes, *class_path]))
        return run([self.jdk.java, *agents, *more, "-cp", path, MAIN], folder)
