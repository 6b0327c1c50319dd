"""Compiles Java programs, and says where compiled ones are."""

import os
import re
import shutil
import subprocess
import zipfile

from support.errors import Unavailable

LOOP = re.compile(r"\s*// for (\w+) in (\d+)\.\.(\d+)$")
END = re.compile(r"\s*// end$")


def compile_java(jdk, sources, class_path, classes):
    """Compiles a source file, a list of them, or all of a folder, for the oldest release that
    the agent supports."""
    javac = jdk.tool("javac") or shutil.which("javac")
    if not javac:
        raise Unavailable("no javac found: install a JDK in JAVA_HOME or on the PATH")
    shutil.rmtree(classes, ignore_errors=True)
    if not isinstance(sources, list):
        sources = sorted(sources.rglob("*.java")) if sources.is_dir() else [sources]
    command = [javac, "-nowarn", "-encoding", "UTF-8", "--release", "11", "-d", classes, *sources]
    if class_path:
        command += ["-cp", os.pathsep.join(map(str, class_path))]
    subprocess.run([str(word) for word in command], check=True)


def expand(template):
    """The Java source of a template `NAME.java.in`.

    The lines between `// for N in 0..9` and `// end` are repeated for each number, the last one
    included. The number replaces the variable where that is a word, or the end of one (`methodN`).
    Loops may be nested.
    """
    lines, _ = _expanded(template.splitlines(), 0, inside=False)
    return "\n".join(lines) + "\n"


def _expanded(lines, at, inside):
    """The expansion of the lines from `at` to the end of the loop, and the index of the next
    line."""
    found = []
    while at < len(lines):
        loop = LOOP.match(lines[at])
        if END.match(lines[at]):
            if not inside:
                raise ValueError(f"template line {at + 1}: // end without a loop")
            return found, at + 1
        if loop:
            name, first, last = loop[1], int(loop[2]), int(loop[3])
            body, at = _expanded(lines, at + 1, inside=True)
            variable = re.compile(rf"(?<![A-Z_]){name}\b")
            found += [variable.sub(str(number), line) for number in range(first, last + 1) for line in body]
        else:
            found.append(lines[at])
            at += 1
    if inside:
        raise ValueError("template: a loop has no // end")
    return found, at


def harness_class_path(jdk, folder):
    """The class path of the test programs that this JVM can run, the newest release first."""
    if not folder.is_dir():
        raise Unavailable(f"{folder} not found: cargo build leaves the test programs beside the agent")
    paths = (folder / str(release) for release in (21, 17, 11) if release <= jdk.feature)
    return os.pathsep.join(str(path) for path in paths if path.is_dir())


def harness_beside(agent):
    """The folder of the test programs that were built with an agent."""
    beside = agent.parent / "harness"
    # An example's library is in a subfolder of the agent's folder.
    return beside if beside.is_dir() else agent.parent.parent / "harness"


def write_agent_jar(path, **manifest):
    """Writes the jar of a Java agent whose class is on the class path. In the names of `manifest`,
    underscores stand for dashes."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in manifest.items())
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", lines)
