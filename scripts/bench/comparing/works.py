"""The work under which jtrail is compared with other tracers, and how one run of it is made.

Each work is a program in one JVM that does the same thing in batches: a cold first one, and later
ones. A server's batch is an answer; its time follows from the rate in a window of time in which
clients ask as fast as they can. In the work `start`, a batch is the whole process. A run has a
limit of time.
"""

import dataclasses
import os
import re
import shutil
import zipfile
from pathlib import Path

from bench.comparing.process import Process
from bench.session import JAVA
from support import downloads, jdks, paths, servers
from support.errors import Unavailable, complaint
from support.java import compile_java
from support.processes import run

CACHE = paths.TARGET / "bench"
# The same for all tracers, so that memory can be compared.
HEAP = ("-Xms512m", "-Xmx512m")


@dataclasses.dataclass
class Size:
    """How much a run does."""

    batches: int  # at most
    seconds: int  # after which no third or later batch begins
    argument: tuple = ()
    warm_up: float = 0  # seconds, for a server


@dataclasses.dataclass
class Work:
    """A program, and what is traced of it."""

    name: str
    title: str
    batch: str  # what a batch is
    classes: tuple  # what is traced: classes, or packages with all below them, as `org.h2.*`
    full: Size
    quick: Size
    since: int = 11  # the first JDK that can run it
    artifacts: tuple = ()  # of Maven Central
    cores: int = 1  # how many it keeps busy by itself
    is_single: bool = False  # a run is one batch
    is_server: bool = False
    is_exact: bool = True  # each run makes the same calls
    rounds: int = 1  # runs for each round that is asked for


WORKS = {work.name: work for work in (
    Work("fib", "Recursive fib", "fib(32)", ("WorkFib",), Size(10, 6, ("32",)), Size(3, 5, ("22",))),
    Work("javac", "javac over java.util, the whole compiler traced", "compilation", ("com.sun.tools.*",),
         Size(8, 50), Size(2, 5), is_exact=False),
    Work("sql", "H2 under SQL, the whole database traced", "2 scripts of SQL", ("org.h2.*",),
         Size(8, 6, ("2",)), Size(2, 5, ("1",)), artifacts=(downloads.H2,), is_exact=False),
    Work("server", "Tomcat and H2 under concurrent load, all of both traced", "answer",
         ("org.apache.*", "jakarta.*", "org.h2.*"), Size(5, 30, warm_up=5), Size(2, 30, warm_up=0.5),
         artifacts=tuple(servers.ARTIFACTS), cores=2, is_server=True, is_exact=False),
    Work("threads", "8 threads", "8 × 20,000 turns", ("WorkThreads", "WorkThreads$Part"),
         Size(12, 6, ("8", "20000")), Size(2, 5, ("8", "200")), cores=2),
    Work("virtual", "100,000 virtual threads", "100,000 threads", ("WorkVirtual",),
         Size(8, 6, ("100000",)), Size(2, 5, ("500",)), since=21, cores=2),
    Work("start", "Start-up of an empty main", "process", ("WorkEmpty",), Size(1, 10), Size(1, 10), is_single=True,
         rounds=5),
)}


class Setup:
    """The works, compiled, on one JDK."""

    def __init__(self, jdk, quick, limit):
        self.jdk, self.quick, self.limit = jdk, quick, limit
        self.libraries = {}

    def size(self, work):
        return work.quick if self.quick else work.full

    def prepare(self, work):
        """Fetches and compiles what a work needs."""
        folder = CACHE / work.name
        jars = sorted(downloads.fetch(folder, list(work.artifacts)).glob("*.jar"))
        classes = folder / "classes"
        compile_java(self.jdk, servers.SOURCES if work.is_server else JAVA / "BenchWork.java",
                     jars if work.is_server else [], classes)
        self.libraries[work.name] = [classes, *jars]
        if work.name == "javac":
            self.sources()

    def sources(self):
        """The folder with the sources of java.util."""
        reason = self.jdk.lacks(11, compiler=True)
        if reason:
            raise Unavailable(reason)
        # Debian has the sources in a package of their own.
        archive = jdks.source(self.jdk) or next(
            downloads.fetch_debian(CACHE / "debian", f"openjdk-{self.jdk.feature}-source").rglob("src.zip"))
        prefix = "A" if self.quick else ""
        folder = CACHE / "javac" / f"java.util-{self.jdk.feature}{'-quick' if self.quick else ''}"
        return downloads.unzip(archive, folder,
                               lambda name: re.fullmatch(rf"java\.base/java/util/{prefix}[^/]*\.java", name))

    def program(self, work, folder, batches):
        """The words after the options of the JVM."""
        size = self.size(work)
        words = ["-cp", os.pathsep.join(map(str, self.libraries[work.name]))]
        if work.is_single:
            return [*words, "WorkEmpty"]
        if work.is_server:
            return [*words, "TomcatServer", folder / "files"]
        arguments = size.argument
        if work.name == "javac":
            source = self.sources()
            arguments = ["-nowarn", "-implicit:none", "-proc:none", "-XDrawDiagnostics",
                         "--patch-module", f"java.base={source}/java.base",
                         "-d", folder / "out", *sorted(source.rglob("*.java"))]
            (folder / "out").mkdir(exist_ok=True)
        elif work.name == "sql":
            arguments = [paths.DATA / "h2.sql", *size.argument]
        return [*words, "BenchWork", batches or size.batches, size.seconds, work.name, *arguments]

    def names(self, work):
        """The names of all traced classes, for tracers that take no packages."""
        packages = tuple(name[:-1] for name in work.classes if name.endswith(".*"))
        found = [name for name in work.classes if not name.endswith(".*")]
        if work.name == "javac":
            listed = run([self.jdk.tool("jimage"), "list", "--include", "regex:/jdk.compiler/.*",
                          self.jdk.home / "lib" / "modules"])
            files = [line.strip() for line in listed.splitlines()]
        else:
            files = [file for jar in self.libraries[work.name] if jar.suffix == ".jar" for file in zipfile.ZipFile(jar).namelist()]
        names = (file[:-len(".class")].replace("/", ".") for file in files if file.endswith(".class"))
        return found + [name for name in names if name.startswith(packages) and "-" not in name]


@dataclasses.dataclass
class Run:
    """One run of a work in a folder, and what it printed."""

    setup: Setup
    work: Work
    folder: Path
    stdout: str = ""
    beside: str = ""  # what a process beside it printed

    def clear(self):
        """Empties the folder. Returns itself."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        return self

    def execute(self, tracer, batches=0):
        """Runs the work under a tracer. Returns its figures, in plain types."""
        command = [self.setup.jdk.java, *HEAP, *tracer.java(self), *self.setup.program(self.work, self.folder, batches)]
        companion = tracer.beside(self)
        process = Process(command, self.folder, "program", self.setup.limit)
        other = Process(companion, self.folder, "beside", self.setup.limit) if companion else None
        try:
            times, answers = self.windows(process) if self.work.is_server else ([], 0)
            self.stdout, seconds, peak = process.finish()
            if other:
                self.beside, _, more = other.finish()
                peak += more  # the tracer needs both processes
        except BaseException:  # an interruption, too, leaves no process behind
            for each in filter(None, (process, other)):
                each.kill_if_running()
            raise
        if self.work.is_single:
            times = [seconds * 1e9]
        elif not self.work.is_server:
            times = [int(ns) for ns in re.findall(r"^batch=(\d+)$", self.stdout, re.M)]
        if not times:
            raise Unavailable(f"the program did nothing: {complaint(self.stdout + process.errors())}")
        calls = re.search(r"^calls=(\d+)$", self.stdout, re.M)
        made = int(calls[1]) if calls else 1 if self.work.is_single else None
        return {"batches": times, "answers": answers, "seconds": seconds, "peak_mb": peak, "made": made}

    def windows(self, process):
        """Puts a server under load. Returns ns for an answer in each window, and the number of all
        answers."""
        size = self.setup.size(self.work)
        seconds = 0.3 if self.setup.quick else 2
        lines = iter(process.process.stdout.readline, "")
        if not any(line.startswith(servers.READY) for line in lines):
            process.finish()
            raise Unavailable(f"the server did not start: {complaint(process.errors())}")
        times, total = [], 0
        for length in [size.warm_up, *[seconds] * size.batches]:
            process.process.stdin.write(f"{int(length * 1000)}\n")
            process.process.stdin.flush()
            answers = next(filter(None, map(servers.Answers.parse, lines)), None)
            if not answers:
                process.finish()
                raise Unavailable(f"the server ended: {complaint(process.errors())}")
            if answers.problem:
                process.kill()
                raise Unavailable(answers.problem)
            times.append(answers.micros * 1000 / answers.right)
            total += answers.right
        return times, total  # the first window warms up
