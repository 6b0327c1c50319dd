"""What is known of a program before it runs."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

JAVA = Path(__file__).parent / "java"
DATA = Path(__file__).parent / "data"


def nothing(_program):
    """The default of a function that a program need not have."""


@dataclasses.dataclass(frozen=True)
class Spec:
    """A program: what it needs, and how it is started.

    Functions take a `check.Program`. Some also take `out`, the folder for the files that are
    compared. `lacks` takes a JDK instead.
    """

    args: Callable  # (program, out): the words after the JVM's options and the class path
    include: list  # patterns of the program's own classes
    artifacts: list = ()  # from Maven Central
    sources: Path = None  # a Java file or a folder, which is compiled with the artifacts
    oldest: int = 11  # the first release of the JVM that can run it
    newest: int = None  # and the last one
    needs_compiler: bool = False  # the module jdk.compiler
    prepare: Callable = nothing  # (program): makes further files in the program's folder
    flags: Callable = lambda program: []  # (program): options of the JVM
    environment: Callable = lambda program: {}  # (program): variables
    launch: Callable = lambda program, out, command: command  # the command, if it does not start with java
    lacks: Callable = lambda jdk: None  # (jdk): why the program cannot run on this machine, or None
    jvms: int = 1  # at least; several get their options in JAVA_TOOL_OPTIONS and write a trace each
    has_log: bool = False  # standard error is a server's log
