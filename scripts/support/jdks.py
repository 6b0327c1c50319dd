"""JDKs: which there are, and what each can do."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from support.errors import Unavailable


class Jdk:
    """A JDK or a Java runtime."""

    def __init__(self, home):
        self.home = Path(home).resolve()
        self.java = self.home / "bin" / "java"
        if not self.java.is_file():
            raise Unavailable(f"{self.home}: no bin/java")
        release = (self.home / "release").read_text()
        self.feature = feature_of(self.home / "release")
        full = re.search(r'^JAVA_RUNTIME_VERSION="(.*)"', release, re.M)
        self.version = full[1] if full else str(self.feature)
        modules = re.search(r'^MODULES="(.*)"', release, re.M)
        self.modules = modules[1].split() if modules else []

    @functools.cached_property
    def verify(self):
        """The options that make this JVM verify every class."""
        candidates = (["-Xverify:all"], ["-XX:+BytecodeVerificationLocal", "-XX:+BytecodeVerificationRemote"])
        accepted = (options for options in candidates
                    if subprocess.run([self.java, *options, "-version"], capture_output=True).returncode == 0)
        return next(accepted, [])

    def tool(self, name):
        """The path of a tool of this JDK, or None."""
        path = self.home / "bin" / name
        return path if path.is_file() else None

    def lacks(self, oldest, compiler=False, newest=None):
        """Why a program cannot run on this JDK, or None. `oldest` and `newest` are the first and
        the last release that can run it."""
        if self.feature < oldest:
            return f"needs Java {oldest}"
        if newest and self.feature > newest:
            return f"does not run on Java after {newest}"
        if compiler and "jdk.compiler" not in self.modules:
            return "it has no module jdk.compiler"
        return None


def feature_of(release):
    """The feature version in a JDK's file `release`."""
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(), re.M)
    return int(version[1])


def default_home():
    """The home of JAVA_HOME's JDK, or of the one on the PATH."""
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    java = shutil.which("java")
    if not java:
        raise Unavailable("no JVM found: set JAVA_HOME or pass --jdk")
    return Path(java).resolve().parent.parent


def installed():
    """The JDKs of JAVA_HOME, JAVA_HOME_* and the system's JVM folder, the oldest first."""
    homes = [Path(value) for name, value in os.environ.items() if name == "JAVA_HOME" or name.startswith("JAVA_HOME_")]
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    homes = dict.fromkeys(home.resolve() for home in homes)
    found = [Jdk(home) for home in homes if (home / "bin/java").is_file() and (home / "release").is_file()]
    return sorted(found, key=lambda jdk: jdk.feature)


def with_tool(jdks, name):
    """The newest of these JDKs that has a tool, or None."""
    return next((jdk for jdk in reversed(jdks) if jdk.tool(name)), None)


def jcmd(jdk):
    """The path of jcmd. That of another JDK serves as well, because some runtimes have none."""
    candidates = (jdk.tool("jcmd"), Path(default_home()).resolve() / "bin/jcmd", shutil.which("jcmd"))
    found = next((path for path in candidates if path and Path(path).is_file()), None)
    if not found:
        raise Unavailable("no jcmd found: install a JDK in JAVA_HOME or on the PATH")
    return Path(found)


def source(jdk):
    """The path of the JDK's src.zip, or None.

    Some packages of a JDK have a dangling link instead, and the file in a package of its own. A
    src.zip of another JDK serves as well if that JDK is in the same folder and of the same feature
    release.
    """
    for home in [jdk.home, *sorted(jdk.home.parent.iterdir())]:
        found, release = home / "lib" / "src.zip", home / "release"
        if found.is_file() and (home == jdk.home or (release.is_file() and feature_of(release) == jdk.feature)):
            return found
    return None
