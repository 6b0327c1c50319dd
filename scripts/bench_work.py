"""The work under which scripts/bench compares jtrail with others, and how one run of it is made.

Each work is a program in one JVM that does the same thing in batches: the first one, which a JVM begins cold with, and later ones. Of a server, a batch
is an answer, by the rate of a window of time in which clients ask as fast as they can. At the start of a program, it is the whole process. A run has a
limit, so what takes too long is told in words.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import zipfile

import real_programs_lib as programs
from bench_lib import ROOT, TARGET, run, version

CACHE = TARGET / "bench"
SOURCES = ROOT / "java-harness" / "drivers"
H2 = "com.h2database:h2:2.3.232"
TOMCAT = "org.apache.tomcat.embed:tomcat-embed-core:10.1.40"
# The same for everybody, so that memory can be compared.
HEAP = ("-Xms512m", "-Xmx512m")
DONE = re.compile(r"\[done\] right=(\d+) wrong=(\d+) failed=(\d+) micros=(\d+)")


class Unavailable(Exception):
    """Why there are no figures, in words for the table."""


@dataclasses.dataclass
class Size:
    """How much a run does."""

    batches: int  # at most
    seconds: int  # behind which no further batch begins, but for the second one
    argument: tuple = ()
    warm_up: float = 0  # of a server


@dataclasses.dataclass
class Work:
    name: str
    title: str
    batch: str  # what a batch is
    classes: tuple  # what is traced: classes, or packages with what is below them, as `org.h2.*`
    full: Size
    quick: Size
    since: int = 11  # the first JDK that can run it
    artifacts: tuple = ()  # of Maven Central
    cores: int = 1  # how many it keeps busy by itself
    is_single: bool = False  # a run is one batch
    is_server: bool = False
    is_exact: bool = True  # whether each run makes the same calls
    rounds: int = 1  # so many runs for each round that is asked for


WORKS = {work.name: work for work in (
    Work("fib", "Recursive fib", "fib(32)", ("WorkFib",), Size(10, 6, ("32",)), Size(3, 5, ("22",))),
    Work("javac", "javac over java.util, the whole compiler traced", "compilation", ("com.sun.tools.*",),
         Size(8, 50), Size(2, 5), is_exact=False),
    Work("sql", "H2 under SQL, the whole database traced", "2 scripts of SQL", ("org.h2.*",),
         Size(8, 6, ("2",)), Size(2, 5, ("1",)), artifacts=(H2,), is_exact=False),
    Work("server", "Tomcat and H2 under concurrent load, all of both traced", "answer", ("org.apache.*", "jakarta.*", "org.h2.*"),
         Size(5, 30, warm_up=5), Size(2, 30, warm_up=0.5), artifacts=(TOMCAT, H2), cores=2, is_server=True, is_exact=False),
    Work("threads", "8 threads", "8 × 20,000 turns", ("WorkThreads", "WorkThreads$Part"),
         Size(12, 6, ("8", "20000")), Size(2, 5, ("8", "200")), cores=2),
    Work("virtual", "100,000 virtual threads", "100,000 threads", ("WorkVirtual",),
         Size(8, 6, ("100000",)), Size(2, 5, ("500",)), since=21, cores=2),
    Work("start", "Start-up of an empty main", "process", ("WorkEmpty",), Size(1, 10), Size(1, 10), is_single=True, rounds=5),
)}


def environment():
    """Without what would add options to a JVM."""
    return {k: v for k, v in os.environ.items()
            if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH")}


class Process:
    """A process that ends by itself, or is ended at its limit, with all that it has started."""

    def __init__(self, command, folder, name, limit):
        self.limit, self.started = limit, time.monotonic()
        self.errors = folder / f"{name}.err"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment(), stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        self.is_late = False
        self.timer = threading.Timer(limit, self.end_it)
        self.timer.start()

    def end_it(self):
        self.is_late = True
        os.killpg(self.process.pid, signal.SIGKILL)

    def finish(self):
        """What it says, how long it took, and its peak memory in MB."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        text = self.process.stdout.read()
        _, status, used = os.wait4(self.process.pid, 0)
        seconds = time.monotonic() - self.started
        self.timer.cancel()
        self.process.stdout.close()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.is_late:
            raise Unavailable(f"takes more than {self.limit:.0f} s")
        if self.process.returncode != 0:
            raise Unavailable(f"{ending(self.process.returncode)}: {complaint(text + self.said())}")
        return text, seconds, used.ru_maxrss / 1024

    def said(self):
        return self.errors.read_text(errors="replace")


def ending(code):
    """An exit code in words."""
    return f"crashed, {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def complaint(text):
    """What a program said that failed: the first line that names an error, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"Exception in thread|(Error|Exception): |^\[?ERROR|^E: ", line)]
    return (errors or lines[-1:] or ["it says nothing"])[0][:200]


def must(command, problem, **options):
    """Runs a command; if it fails, that is why there are no figures."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    except FileNotFoundError as missing:
        raise Unavailable(f"{problem}: {command[0]} is not installed") from missing
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"{problem} in {late.timeout:.0f} s") from late
    if done.returncode != 0:
        raise Unavailable(f"{problem}: {complaint(done.stdout + done.stderr)}")
    return done.stdout


def debian(package):
    """The files of a Debian package, by apt-get, fetched once and not installed."""
    folder = CACHE / "debian" / package
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        must(["apt-get", "download", "-q", package], f"apt-get cannot fetch {package}", cwd=part)
        must(["dpkg-deb", "-x", next(part.glob("*.deb")), part], f"dpkg-deb cannot unpack {package}")
        part.rename(folder)
    return folder


class Bench:
    """The works, compiled, on one JDK."""

    def __init__(self, home, quick, limit):
        self.home, self.quick, self.limit = pathlib.Path(home), quick, limit
        self.java = self.home / "bin" / "java"
        self.version = int(version(home))
        self.jdk = programs.Jdk(home)
        self.libraries = {}

    def size(self, work):
        return work.quick if self.quick else work.full

    def prepare(self, work):
        """Fetches and compiles what it needs; says in words what cannot be had."""
        folder = CACHE / work.name
        try:
            jars = sorted(programs.fetch(folder, list(work.artifacts)).glob("*.jar")) if work.artifacts else []
            classes = folder / "classes"
            if work.is_server:
                programs.compile_java(self.jdk, SOURCES / "servers", jars, classes)
            else:
                programs.compile_java(self.jdk, SOURCES / "bench" / "BenchWork.java", [], classes)
        except SystemExit as problem:
            raise Unavailable(complaint(str(problem))) from problem
        self.libraries[work.name] = [classes, *jars]
        if work.name == "javac":
            self.sources()

    def sources(self):
        """The sources of java.util."""
        reason = self.jdk.lacks(11, True)
        if reason:
            raise Unavailable(reason)
        # Debian has the sources in a package of their own.
        archive = programs.jdk_source(self.jdk) or next(debian(f"openjdk-{self.version}-source").rglob("src.zip"))
        prefix = "A" if self.quick else ""
        return programs.unzip(archive, CACHE / "javac" / f"java.util-{self.version}{'-quick' if self.quick else ''}",
                              lambda name: re.fullmatch(rf"java\.base/java/util/{prefix}[^/]*\.java", name))

    def program(self, work, folder, batches):
        """The words behind the options of the JVM."""
        size = self.size(work)
        words = ["-cp", os.pathsep.join(map(str, self.libraries[work.name]))]
        if work.is_single:
            return [*words, "WorkEmpty"]
        if work.is_server:
            return [*words, "TomcatServer", folder / "files"]
        arguments = size.argument
        if work.name == "javac":
            source = self.sources()
            arguments = ["-nowarn", "-implicit:none", "-proc:none", "-XDrawDiagnostics", "--patch-module", f"java.base={source}/java.base",
                         "-d", folder / "out", *sorted(source.rglob("*.java"))]
            (folder / "out").mkdir(exist_ok=True)
        elif work.name == "sql":
            arguments = [SOURCES / "data" / "h2.sql", *size.argument]
        return [*words, "BenchWork", batches or size.batches, size.seconds, work.name, *arguments]

    def names(self, work):
        """The classes of what is traced, by name, for those that take no packages."""
        packages = tuple(name[:-1] for name in work.classes if name.endswith(".*"))
        found = [name for name in work.classes if not name.endswith(".*")]
        if work.name == "javac":
            listed = run([self.home / "bin" / "jimage", "list", "--include", "regex:/jdk.compiler/.*", self.home / "lib" / "modules"])
            paths = [line.strip() for line in listed.splitlines() if line.strip().endswith(".class")]
        else:
            paths = [path for jar in self.libraries[work.name] if jar.suffix == ".jar" for path in zipfile.ZipFile(jar).namelist()]
        names = (path[:-len(".class")].replace("/", ".") for path in paths if path.endswith(".class"))
        return found + [name for name in names if name.startswith(packages) and "-" not in name]


@dataclasses.dataclass
class Run:
    """One run: of what, where, and what it left behind."""

    bench: Bench
    work: Work
    folder: pathlib.Path
    stdout: str = ""
    beside: str = ""  # what a process beside it said

    def make(self, tracer, batches=0):
        """Runs the work under a tracer; its figures, in plain types."""
        command = [self.bench.java, *HEAP, *tracer.java(self), *self.bench.program(self.work, self.folder, batches)]
        companion = tracer.beside(self)
        process = Process(command, self.folder, "program", self.bench.limit)
        other = Process(companion, self.folder, "beside", self.bench.limit) if companion else None
        try:
            times, answers = self.windows(process) if self.work.is_server else ([], 0)
            self.stdout, seconds, peak = process.finish()
            if other:
                self.beside, _, more = other.finish()
                peak += more  # it needs both
        except BaseException:  # an interruption too: nothing of ours goes on
            for each in filter(None, (process, other)):
                each.timer.cancel()
                if each.process.returncode is None and each.process.poll() is None:
                    each.end_it()
            raise
        if self.work.is_single:
            times = [seconds * 1e9]
        elif not self.work.is_server:
            times = [int(ns) for ns in re.findall(r"^batch=(\d+)$", self.stdout, re.M)]
        if not times:
            raise Unavailable(f"it did nothing: {complaint(self.stdout + process.said())}")
        calls = re.search(r"^calls=(\d+)$", self.stdout, re.M)
        made = int(calls[1]) if calls else 1 if self.work.is_single else None
        return {"batches": times, "answers": answers, "seconds": seconds, "peak_mb": peak, "made": made}

    def windows(self, process):
        """Puts a server under load: ns for an answer in each window, and how many answers there were in all."""
        size = self.bench.size(self.work)
        seconds = 2 if not self.bench.quick else 0.3
        lines = iter(process.process.stdout.readline, "")
        if not any(line == "[ready]\n" for line in lines):
            process.finish()
            raise Unavailable(f"the server did not begin: {complaint(process.said())}")
        times, answers = [], 0
        for length in [size.warm_up, *[seconds] * size.batches]:
            process.process.stdin.write(f"{int(length * 1000)}\n")
            process.process.stdin.flush()
            found = next(filter(None, map(DONE.match, lines)), None)
            if not found:
                process.finish()
                raise Unavailable(f"the server has ended: {complaint(process.said())}")
            right, wrong, failed, micros = map(int, found.groups())
            if not right or wrong or failed:
                process.end_it()
                raise Unavailable(f"{right} answers were right, {wrong} wrong, {failed} missing")
            times.append(micros * 1000 / right)
            answers += right
        return times, answers  # the first one warmed it up

    def fresh(self):
        """An empty folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        return self
