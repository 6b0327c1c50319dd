"""What scripts/real-programs is made of: JDKs, fetching, running, comparing, reading the trace."""

import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


# TPTP's messages, by the kinds of events that `jtrail verify --counts` tells. In one run calls are
# told one by one, or added up.
MESSAGES = {
    1001: "Node", 1002: "ProcessCreate", 1003: "AgentCreate", 1004: "AgentDestroy", 1005: "TraceStart", 1006: "TraceEnd",
    1007: "Filter", 1008: "Option", 1009: "ThreadStart", 1010: "ThreadEnd", 1011: "ClassDef", 1012: "MethodDef",
    1014: "ObjectAlloc", 1015: "MethodEnter", 1016: "MethodLeave", 1023: "GcStart", 1024: "ObjectFree", 1027: "GcFinish",
    1030: "RuntimeInitDone", 1031: "RuntimeShutdown", 1032: "MonitorWait", 1033: "MonitorWaited",
    1034: "MonitorContendedEnter", 1035: "MonitorContendedEntered", 1036: "AggregatedEnter", 1037: "AggregatedLeave",
    1038: "HeapDump", 1039: "GcRoot", 1040: "ObjectReference", 1041: "Custom",
}
SPELLINGS = ("binary", "xml")


# args: what follows the JVM's options and the class path. oldest, newest: releases of the JVM.
# flags: the JVM's own. The command starts the JVM unless launch makes another one of it;
# environment: variables. How many JVMs run at least; more than one are passed their options in
# JAVA_TOOL_OPTIONS, and write a trace each. What a program lacks on this machine is a reason to
# pass it over. has_log: standard error is a server's log.
Spec = collections.namedtuple("Spec", "args include artifacts oldest sources newest flags launch environment prepare jvms lacks"
                                      " has_log",
                              defaults=(None, lambda p: [], lambda p, out, command: command, lambda p: {}, lambda p: None, 1,
                                        lambda jdk: None, False))


class Jdk:
    """A JVM to run in, and how to make it verify every class."""

    def __init__(self, home):
        self.home = Path(home).resolve()
        self.java = self.home / "bin" / "java"
        if not self.java.is_file():
            sys.exit(f"real-programs: {self.home}: no bin/java")
        release = (self.home / "release").read_text()
        self.feature = self.feature_of(self.home / "release")
        full = re.search(r'^JAVA_RUNTIME_VERSION="(.*)"', release, re.M)
        self.version = full[1] if full else str(self.feature)
        modules = re.search(r'^MODULES="(.*)"', release, re.M)
        self.modules = modules[1].split() if modules else []
        self.verify = next((flags for flags in (
            ["-Xverify:all"],
            ["-XX:+BytecodeVerificationLocal", "-XX:+BytecodeVerificationRemote"],
        ) if subprocess.run([self.java, *flags, "-version"], capture_output=True).returncode == 0), [])

    @staticmethod
    def feature_of(release):
        version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(), re.M)
        return int(version[1])

    def lacks(self, oldest, compiler, newest=None):
        """Why a program cannot run here, or nothing."""
        if self.feature < oldest:
            return f"needs Java {oldest}"
        if newest and self.feature > newest:
            return f"does not run on Java after {newest}"
        if compiler and "jdk.compiler" not in self.modules:
            return "it has no module jdk.compiler"
        return None


def jdk_source(jdk):
    """The JDK's src.zip. Some packages have it apart, and a dangling link where it would be.

    Another JDK of the same feature release, beside this one, serves as well.
    """
    homes = [jdk.home, *sorted(jdk.home.parent.iterdir())]
    for home in homes:
        source, release = home / "lib" / "src.zip", home / "release"
        if source.is_file() and (home == jdk.home or (release.is_file() and Jdk.feature_of(release) == jdk.feature)):
            return source
    return None


def default_home():
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    java = shutil.which("java")
    if not java:
        sys.exit("real-programs: no JVM: set JAVA_HOME or give --jdk")
    return Path(java).resolve().parent.parent


def jcmd(jdk):
    """The tool that commands JVMs. Not every JVM comes with it, and any JDK's will do."""
    for home in (jdk.home, Path(default_home())):
        tool = Path(home).resolve() / "bin/jcmd"
        if tool.is_file():
            return tool
    sys.exit("no jcmd; there must be one in JAVA_HOME or on the path")


def fetch(folder, artifacts):
    """The jars of these artifacts and of all that they need, fetched once."""
    lib = folder / "lib"
    done = folder / "fetched"
    wanted = "\n".join(artifacts)
    lib.mkdir(parents=True, exist_ok=True)
    if not artifacts or (done.is_file() and done.read_text() == wanted):
        return lib
    shutil.rmtree(lib)
    dependencies = ""
    for artifact in artifacts:
        group, name, version, classifier, kind = (artifact.split(":") + ["", ""])[:5]
        extra = f"<classifier>{classifier}</classifier>" if classifier else ""
        extra += f"<type>{kind}</type><exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>" if kind else ""
        dependencies += (f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
                         f"<version>{version}</version>{extra}</dependency>")
    (folder / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>jtrail</groupId><artifactId>fetch</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>")
    command = ["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), MAVEN_COPY, f"-DoutputDirectory={lib}"]
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit("real-programs: mvn is needed to fetch the programs")
    if result.returncode != 0:
        sys.exit(f"real-programs: mvn could not fetch {' '.join(artifacts)}:\n{result.stdout}{result.stderr}")
    done.write_text(wanted)
    return lib


def unzip(archive, folder, wanted):
    """Those entries of a zip file, unpacked once."""
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        with zipfile.ZipFile(archive) as file:
            file.extractall(part, [n for n in file.namelist() if wanted(n)])
        part.rename(folder)
    return folder


def compile_java(jdk, sources, class_path, classes):
    """Compiles our own drivers, for the oldest release."""
    javac = jdk.home / "bin" / "javac"
    javac = javac if javac.is_file() else shutil.which("javac")
    if not javac:
        sys.exit("real-programs: no javac for the drivers: put one on the PATH")
    shutil.rmtree(classes, ignore_errors=True)
    files = sorted(sources.rglob("*.java")) if sources.is_dir() else [sources]
    command = [javac, "-nowarn", "--release", "11", "-d", classes, *files]
    if class_path:
        command += ["-cp", os.pathsep.join(map(str, class_path))]
    subprocess.run([str(c) for c in command], check=True)


def build_war(classes, files, war):
    """Packs these classes, and files by their name in the archive, as a web application."""
    with zipfile.ZipFile(war, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            archive.write(path, f"WEB-INF/classes/{path.relative_to(classes)}")
        for name, text in files.items():
            archive.writestr(name, text)
    return war


def pip_install(folder, package):
    """A package from PyPI, in a folder of its own, fetched once."""
    done = folder / "fetched"
    if not (done.is_file() and done.read_text() == package):
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), package]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"real-programs: pip could not install {package}:\n{result.stdout}{result.stderr}")
        done.write_text(package)
    return folder


def shared_library(name):
    """The path of a library that the system's linker knows, or nothing."""
    ldconfig = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    cache = subprocess.run([ldconfig, "-p"], capture_output=True, text=True).stdout if ldconfig else ""
    found = re.search(rf"^\s*{re.escape(name)} .*x86-64.* => (\S+)$", cache, re.M) or \
        re.search(rf"^\s*{re.escape(name)} .* => (\S+)$", cache, re.M)
    return found and found[1]


OWN = re.compile(r"jtrail: (\w+: dropped: .*|.* has (hooks for its calls alone|no hooks): .* -XX:-DontCompileHugeMethods has them traced$)")
# Random, in 122 of its bits.
UUID = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"


class Run:
    """What one run left behind."""

    def __init__(self, code, stdout, stderr, files, seconds):
        self.code, self.stdout, self.stderr, self.files, self.seconds = code, stdout, stderr, files, seconds

    def text(self):
        return (self.stdout + self.stderr).decode(errors="replace")

    def messages(self):
        """The lines on standard error, how often each; without numbers, which are times and ports and hashes and random ids.

        Threads write there at the same time, so the order says nothing.
        """
        # Colours of a terminal, which threads that write at the same time set in any order.
        lines = re.sub(r"\x1b\[[0-9;]*m", "", self.stderr.decode(errors="replace")).splitlines()
        # The agent's, of what the trace's format does not hold, and of a method that would grow too
        # long to be compiled.
        lines = (line for line in lines if not OWN.match(line))
        # The JVM's own, of where it found the agent.
        lines = (re.sub(r"Picked up JAVA_TOOL_OPTIONS: .*", "Picked up JAVA_TOOL_OPTIONS", line) for line in lines)
        lines = (re.sub(rf"{UUID}|0x[0-9a-f]+|@[0-9a-f]+|\d+", "#", line) for line in lines)
        lines = (line for line in lines if line)
        return collections.Counter(re.sub(r"\b(AM|PM)\b|\b[A-Z][a-z]{2} (?=#, #)", "", line) for line in lines)


def run(command, work, out, timeout, environment=None):
    """Runs a command with these variables beside those of this process."""
    env = {k: v for k, v in os.environ.items()
           if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH")}
    env |= environment or {}
    started = time.monotonic()
    try:
        result = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=timeout)
        code, stdout, stderr = result.returncode, result.stdout, result.stderr
    except subprocess.TimeoutExpired as e:
        code, stdout, stderr = f"none: killed after {timeout} s", e.stdout or b"", e.stderr or b""
    seconds = time.monotonic() - started
    files = {str(path.relative_to(out)): hashlib.sha256(scrub(path.name, path.read_bytes())).hexdigest()
             for path in sorted(out.rglob("*")) if path.is_file()}
    return Run(code, stdout, stderr, files, seconds)


def scrub(name, data):
    """A file's content without what tells when it was written, and in what order where there is none."""
    if name.endswith(".si"):
        # A segment of Lucene: the time in milliseconds, and at the end the checksum of all. What it
        # lists is in an order that each JVM chooses anew, so that two runs agree on it by chance
        # only.
        data = bytes(sorted(re.sub(rb"(timestamp.)\d+", rb"\1", data[:-8], flags=re.S)))
    return data


class Noise:
    """What differs between two plain runs, and so says nothing about the agent."""

    def __init__(self, lines=frozenset(), lengths=False, files=frozenset(), names=False, messages=frozenset(), log=None):
        self.lines, self.lengths, self.files, self.names = lines, lengths, files, names
        # `log`: where standard error is a server's log, all lines that it had in any plain run.
        self.messages, self.log = messages, log

    @classmethod
    def between(cls, a, b, has_log=False):
        left, right = a.stdout.splitlines(), b.stdout.splitlines()
        lines = {i for i, (x, y) in enumerate(zip(left, right)) if x != y}
        files = {name for name in a.files if name in b.files and a.files[name] != b.files[name]}
        x, y = a.messages(), b.messages()
        messages = {line for line in x | y if x[line] != y[line]}
        return cls(lines, len(left) != len(right), files, set(a.files) != set(b.files), messages, set(x | y) if has_log else None)


def differences(plain, other, noise):
    found = []
    if plain.code != other.code:
        found.append(f"exit {other.code} instead of {plain.code}")
    left, right = plain.stdout.splitlines(), other.stdout.splitlines()
    if len(left) != len(right) and not noise.lengths:
        found.append(f"{len(right)} lines of output instead of {len(left)}")
    for i, (x, y) in enumerate(zip(left, right)):
        if x != y and i not in noise.lines and not noise.lengths:
            found.append(f"output line {i + 1}: {y[:80]!r} instead of {x[:80]!r}")
            break
    if set(plain.files) != set(other.files) and not noise.names:
        changed = sorted(set(plain.files) ^ set(other.files))
        found.append(f"other files: {' '.join(changed[:5])}")
    changed = [name for name in plain.files if name in other.files
               and plain.files[name] != other.files[name] and name not in noise.files]
    if changed:
        found.append(f"{len(changed)} files differ: {' '.join(changed[:5])}")
    x, y = plain.messages(), other.messages()
    if noise.log is not None:
        # In each run, other lines of it are lost as the server starts and stops, also without the
        # agent. No warning, error or line of a stack trace may be new.
        x, y = collections.Counter(), collections.Counter(line for line in y.keys() - noise.log if " INFO " not in line)
    for line in sorted(line for line in x | y if x[line] != y[line] and line not in noise.messages)[:3]:
        found.append(f"on standard error {y[line]} times instead of {x[line]}: {line[:120]!r}")
    return found


class Verdict:
    """What `jtrail verify --json` says of a trace, or of several; as it is where it said nothing."""

    def __init__(self):
        self.totals, self.reasons, self.kinds = {}, collections.Counter(), collections.Counter()
        self.code = self.output = self.events = None
        self.bytes = self.without_totals = 0

    def take(self, output):
        """Adds what was said of each trace."""
        self.output = output
        if not output:
            return
        for verdict in json.loads(output):
            self.without_totals += not verdict["totals"]
            for key, count in (verdict["totals"] or {}).items():
                self.totals[key] = self.totals.get(key, 0) + count
            self.reasons.update(verdict["uninstrumented"])
            self.kinds.update(verdict["kinds"])
            self.events = (self.events or 0) + verdict["events"]


class TraceFolder(Verdict):
    """The traces of several JVMs, a file for each, which are read when all have ended."""

    def __init__(self, folder, jtrail):
        super().__init__()
        self.folder, self.jtrail = folder, jtrail
        self.path = folder / "%p.trace"
        self.count = 0
        folder.mkdir()

    def finish(self):
        traces = sorted(self.folder.iterdir())
        self.count = len(traces)
        self.bytes = sum(path.stat().st_size for path in traces)
        if traces:
            result = subprocess.run([str(self.jtrail), "verify", "--json", *map(str, traces)], stdout=subprocess.PIPE)
            self.code = result.returncode
            self.take(result.stdout.decode(errors="replace"))
        shutil.rmtree(self.folder)
        return self


class TraceReader(Verdict):
    """Reads a trace from a named pipe, and hands it to `jtrail verify`, which tells what is in it."""

    def __init__(self, path, jtrail):
        """`jtrail` is the program; tests put another one in its place."""
        super().__init__()
        self.path = path
        os.mkfifo(path)
        self._verify = subprocess.Popen([str(jtrail), "verify", "--json", "-"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self._opened = threading.Event()
        self._said = []
        self._collector = threading.Thread(target=lambda: self._said.append(self._verify.stdout.read()))
        self._pump = threading.Thread(target=self._copy, daemon=True)
        self._collector.start()
        self._pump.start()

    def _copy(self):
        with open(self.path, "rb", buffering=0) as pipe:
            self._opened.set()
            while chunk := pipe.read(1 << 20):
                self.bytes += len(chunk)
                try:
                    self._verify.stdin.write(chunk)
                except BrokenPipeError:
                    pass  # it gave up; the program must still run to its end

    def finish(self):
        """After the program's end: waits for the verdict."""
        while not self._opened.wait(0.01):
            try:
                # Lets go a reader that still waits for a writer which never came.
                os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass  # it does not even wait yet
        self._pump.join(600)
        try:
            self._verify.stdin.close()
        except BrokenPipeError:
            pass
        self.code = self._verify.wait(600)
        self._collector.join(10)
        self._verify.stdout.close()
        self.path.unlink()
        self.take(b"".join(self._said).decode(errors="replace"))
        return self


def messages(rows):
    """How often each of TPTP's messages occurs in the runs of each spelling, in all, by spelling and kind."""
    found = {}
    for row in rows:
        spelling = row.get("format", "").partition("-")[0]
        if spelling in SPELLINGS:
            found.setdefault(spelling, collections.Counter()).update(row.get("kinds", {}))
    return {spelling: {kind: kinds[kind] for kind in MESSAGES.values()} for spelling, kinds in found.items()}


def print_messages(rows):
    """Prints how many there are of each message; returns what is wrong: those that are nowhere in a spelling."""
    found = messages(rows)
    print()
    for number, kind in MESSAGES.items():
        counts = "".join(f"{spelling} {kinds[kind]:>12,}  " for spelling, kinds in found.items())
        print(f"{number} {kind:<24}{counts}".rstrip())
    missing = {spelling: [kind for kind, count in kinds.items() if not count] for spelling, kinds in found.items()}
    wrong = [f"no {', '.join(kinds)} in {spelling}" for spelling, kinds in missing.items() if kinds]
    for text in wrong:
        print(text)
    return wrong if found else ["no run in TPTP's formats"]


def scaled(number):
    for unit in ("", "k", "M", "G"):
        if number < 10_000 or unit == "G":
            return f"{number:.0f}{unit}"
        number /= 1000


def print_table(rows, plain):
    columns = ["program", "jdk", "include", "plain"]
    columns += ["noise"] if plain else ["format", "traced", "classes", "methods", "uninstrumented", "enters", "events",
                                        "repaired", "open", "lost", "bytes"]
    table = [columns + ["verdict"]]
    for row in rows:
        table.append([str(row.get(c, "-")) for c in columns] + ["DIFFERS" if row["wrong"] else "ok"])
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    print()
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    for row in rows:
        title = f"{row['program']} on Java {row['jdk']}, include={row['include']}"
        for text in row["wrong"]:
            print(f"{title}: {text}")
        for reason, count in row["reasons"].most_common():
            print(f"{title}: {count} not instrumented: {reason}")
