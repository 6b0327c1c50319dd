"""The tracers that scripts/bench compares: jtrail in its ways, what the JVM has itself, and others' tools.

Each says how it is started, and afterwards how many calls it has, in how many bytes, how many it lost, and how long it takes to sum them up. Others' tools
are fetched by their usual client (mvn, apt-get) into target/bench, only when they are asked for; where one cannot be had or cannot do a work, the table
says why.
"""

import os
import re
import shutil
import subprocess
import time
import zipfile

import real_programs_lib as programs
from bench_lib import TARGET, agent
from bench_work import CACHE, SOURCES, Unavailable, complaint, debian, must

MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
KIEKER = "net.kieker-monitoring:kieker:2.0.2:jar:aspectj"
ASYNC_PROFILER = "tools.profiler:async-profiler:4.2"
BTRACE = [f"io.btrace:btrace-{part}:2.2.6" for part in ("agent", "boot", "client")]
VISUALVM = ("visualvm", "libvisualvm-jni")


def maven(artifact):
    """An artifact's jar, by mvn, fetched once."""
    group, name, number, *rest = artifact.split(":")
    classifier = f"-{rest[1]}" if len(rest) > 1 else ""
    folder = CACHE / "peers"
    jar = folder / f"{name}-{number}{classifier}.jar"
    if not jar.is_file():
        must(["mvn", "-q", "-B", MAVEN_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"], f"mvn cannot fetch {artifact}")
    if not jar.is_file():
        raise Unavailable(f"mvn brought no {jar.name}")
    return jar


def timed(command, limit):
    """The seconds that a command takes, of which it gets so many, and what it says."""
    began = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"report": limit, "is_late": True}, ""
    if done.returncode != 0:
        raise Unavailable(f"no report: {complaint(done.stdout + done.stderr)}")
    return {"report": time.monotonic() - began}, done.stdout


def size(paths):
    return sum(path.stat().st_size for path in paths)


def counted(run_, file):
    """How many events of each kind a recording has, and what it took to count them: the nearest to a report, for JFR has none of these events."""
    took, said = timed([run_.bench.home / "bin" / "jfr", "summary", file], run_.bench.limit)
    if not said:
        raise Unavailable(f"its events cannot be counted in {run_.bench.limit:.0f} s")
    return {kind: int(count) for kind, count in re.findall(r"^ jdk\.(\w+) +(\d+)", said, re.M)}, took


class Tracer:
    """One way to run a program, bare if nothing else is said."""

    since, until = 11, None  # the JDKs that it knows
    is_peer = False  # one of others, which is fetched

    def __init__(self, name):
        self.name = name

    def lacks(self, bench):
        """Why it cannot be had with this JDK, or nothing."""
        if bench.version < self.since:
            return f"needs Java {self.since}"
        return None

    def prepare(self, bench):
        """Fetches and makes what it needs."""

    def java(self, _run):
        """Options for the JVM."""
        return []

    def beside(self, _run):
        """A command that has to run beside the program."""
        return None

    def recorded(self, _run):
        """What it has of the calls: `calls`, `bytes`, `lost` as it says itself, and seconds of its `report` if that comes by itself; what it does not have is
        left out."""
        return {}

    def report(self, _run):
        """The seconds of a report that has to be asked for."""
        return {}


class Jtrail(Tracer):
    def __init__(self, name, options="", output="format=trail", target=TARGET):
        super().__init__(name)
        self.options, self.output, self.target = options, output, target

    def java(self, run_):
        words = [self.output, *([f"file={self.file(run_)}"] if self.output != "format=none" else []), *filter(None, [self.options]),
                 *(f"include={name}" for name in run_.work.classes)]
        return [agent(",".join(words), self.target)]

    @staticmethod
    def file(run_):
        return run_.folder / "jtrail.trail"

    def recorded(self, run_):
        if self.output == "format=none":
            return {}
        said = must([self.target / "release" / "jtrail", "verify", "--counts", self.file(run_)], "jtrail verify")
        number = lambda what: int((re.search(rf"\b{what}: ([\d,]+)", said) or [0, "0"])[1].replace(",", ""))
        return {"calls": number("MethodEnter"), "lost": number("events lost"), "bytes": size([self.file(run_)])}

    def report(self, run_):
        if self.output == "format=none":
            return {}
        return timed([self.target / "release" / "jtrail", "report", self.file(run_)], run_.bench.limit)[0]


class JvmEvents(Tracer):
    def java(self, _run):
        return [f"-agentpath:{TARGET / 'release' / 'examples' / 'libmethod_events.so'}"]


class Jfr(Tracer):
    """The JVM's own recorder, whose method tracing takes classes by name."""

    since = 25

    def __init__(self, name, stacks):
        super().__init__(name)
        self.stacks = stacks

    def java(self, run_):
        settings = {"enabled": "true", "threshold": "0 ns", "stackTrace": str(self.stacks).lower(),
                    "filter": ";".join(run_.bench.names(run_.work))}
        lines = "".join(f'<setting name="{key}">{value}</setting>' for key, value in settings.items())
        path = run_.folder / "calls.jfc"
        path.write_text(f'<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0"><event name="jdk.MethodTrace">{lines}'
                        "</event></configuration>")
        # Without a bound, or the oldest calls are thrown away.
        return [f"-XX:StartFlightRecording:settings={path},filename={self.file(run_)},dumponexit=true,maxsize=0", "-Xlog:jfr*=off"]

    @staticmethod
    def file(run_):
        return run_.folder / "calls.jfr"

    def recorded(self, run_):
        events, took = counted(run_, self.file(run_))
        found = {"calls": events["MethodTrace"], "bytes": size([self.file(run_)])} | took
        # Its events of losses tell bytes of buffers, not how many calls were in them.
        return found if events.get("DataLoss") else found | {"lost": 0}


class VisualVm(Tracer):
    """VisualVM's instrumenting profiler, whose client we make without its windows (VisualVmClient)."""

    is_peer = True
    until = 19
    port = 5140

    def lacks(self, bench):
        if bench.version > self.until:
            return f"VisualVM 2.1.5 does not know Java {bench.version}: its server ends with UnsatisfiedLinkError in GC.activateGCEpochCounter"
        return super().lacks(bench)

    def prepare(self, bench):
        files, native = (debian(package) for package in VISUALVM)
        self.folder = CACHE / "peers" / "visualvm-libs"
        # Where the profiler looks for its parts.
        library = self.folder / "deployed" / "jdk16" / "linux-amd64" / "libprofilerinterface.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(native / "usr/lib/jni/libprofilerinterface-jdk16.so", library)
        modules = files / "usr/share/visualvm/visualvm"
        for jar in (modules / "lib").glob("jfluid-server*.jar"):
            shutil.copy(jar, self.folder)
        self.library = library
        self.class_path = [CACHE / "peers" / "visualvm-client", *(modules / "modules").glob("*-lib-jfluid*.jar"),
                           *(modules / "modules").glob("*-lib-common.jar")]
        programs.compile_java(bench.jdk, SOURCES / "bench" / "VisualVmClient.java", self.class_path[1:], self.class_path[0])
        self.state = CACHE / "peers" / f"visualvm-{bench.version}"
        self.state.mkdir(exist_ok=True)
        must(self.client(bench, "calibrate"), "VisualVM cannot be calibrated", timeout=60)

    def client(self, bench, *words):
        return [bench.java, f"-Dnbprofiler.home={self.state}", "-cp", os.pathsep.join(map(str, self.class_path)), "VisualVmClient",
                self.folder, self.port, bench.java, f"{bench.version}.0", *words]

    def java(self, _run):
        return [f"-agentpath:{self.library}={self.folder},{self.port},30"]

    def beside(self, run_):
        return self.client(run_.bench, *(name.replace(".*", ".**") for name in run_.work.classes))

    def recorded(self, run_):
        calls, micros = map(int, re.search(r"calls=(\d+) micros=(\d+)", run_.beside).groups())
        return {"calls": calls, "report": micros / 1e6}


class AsyncProfiler(Tracer):
    """async-profiler's tracing of methods, which takes stacks with each call, of any depth that is asked for."""

    is_peer = True

    def __init__(self, name, depth):
        super().__init__(name)
        self.depth = depth

    def prepare(self, bench):
        jar = maven(ASYNC_PROFILER)
        folder = CACHE / "peers" / "async-profiler"
        entry = f"linux-{'arm64' if os.uname().machine == 'aarch64' else 'x64'}/libasyncProfiler.so"
        with zipfile.ZipFile(jar) as file:
            file.extract(entry, folder)
        self.library = folder / entry

    def java(self, run_):
        # A class, or a package with its star, and all methods.
        traces = ",".join(f"trace={name}.*" for name in run_.work.classes)
        return [f"-agentpath:{self.library}=start,{traces},jstackdepth={self.depth},jfr,file={self.file(run_)}"]

    @staticmethod
    def file(run_):
        return run_.folder / "async.jfr"

    def recorded(self, run_):
        events, took = counted(run_, self.file(run_))
        return {"calls": events.get("MethodTrace", 0), "bytes": size([self.file(run_)])} | took


class Kieker(Tracer):
    """Kieker's probe of all executions, woven in by AspectJ's agent, and its binary files."""

    is_peer = True
    # A record of an execution, and the one at the begin of the first file.
    record, head = 56, 49

    def prepare(self, bench):
        self.jar = maven(KIEKER)

    def java(self, run_):
        within = "".join(f'<include within="{name.replace(".*", "..*")}"/>' for name in run_.work.classes)
        aspects = run_.folder / "aop.xml"
        aspects.write_text(f'<aspectj><weaver options="">{within}</weaver><aspects><aspect name='
                           '"kieker.monitoring.probe.aspectj.operationExecution.OperationExecutionAspectFull"/></aspects></aspectj>')
        (run_.folder / "kieker").mkdir()
        writer = "kieker.monitoring.writer.filesystem.FileWriter"
        properties = {
            "kieker.monitoring.skipDefaultAOPConfiguration": "true",
            "org.aspectj.weaver.loadtime.configuration": f"file:{aspects}",
            "kieker.monitoring.writer": writer,
            f"{writer}.customStoragePath": run_.folder / "kieker",
            f"{writer}.logStreamHandler": "kieker.monitoring.writer.filesystem.BinaryLogStreamHandler",
            f"{writer}.maxEntriesInFile": 1_000_000_000,  # or there are thousands of files
            # The usual one is for one thread: with several, all soon wait for ever.
            "kieker.monitoring.core.controller.WriterController.QueuePutStrategy": "kieker.monitoring.queue.putstrategy.YieldPutStrategy",
        }
        return [f"-javaagent:{self.jar}", *(f"-D{key}={value}" for key, value in properties.items())]

    def recorded(self, run_):
        files = [path for path in (run_.folder / "kieker").rglob("*") if path.is_file()]
        records = size(path for path in files if path.suffix == ".bin")
        return {"calls": max(0, (records - self.head) // self.record), "bytes": size(files)}


class BTrace(Tracer):
    """A probe of BTrace at each enter and each leave, which takes the time of the call and counts it. It writes nothing."""

    is_peer = True
    probe = """
import org.openjdk.btrace.core.annotations.*;
import static org.openjdk.btrace.core.BTraceUtils.*;
import java.util.concurrent.atomic.AtomicLong;
@BTrace public class Probe {
    private static AtomicLong calls = Atomic.newAtomicLong(0);
    private static AtomicLong time = Atomic.newAtomicLong(0);
    PROBES
    @OnExit public static void end(int code) { println(strcat("probed=", str(Atomic.get(calls)))); }
}
"""
    places = """
    @OnMethod(clazz="CLASS", method="/.*/") public static void enterN() { Atomic.getAndIncrement(calls); }
    @OnMethod(clazz="CLASS", method="/.*/", location=@Location(Kind.RETURN)) public static void leaveN(@Duration long ns) {
        Atomic.addAndGet(time, ns);
    }
"""
    opens = [word for package in ("java.lang", "jdk.internal.reflect", "jdk.internal.perf")
             for word in ("--add-opens", f"java.base/{package}=ALL-UNNAMED", "--add-exports", f"java.base/{package}=ALL-UNNAMED")]

    def lacks(self, bench):
        if bench.version >= 24:
            return f"BTrace 2.2.6 does not know Java {bench.version}: it says «sun.security.action not in module», and probes nothing"
        return super().lacks(bench)

    def prepare(self, bench):
        self.folder = CACHE / "peers" / "btrace"
        self.folder.mkdir(parents=True, exist_ok=True)
        for artifact in BTRACE:
            shutil.copy(maven(artifact), self.folder / f"{artifact.split(':')[1]}.jar")

    def java(self, run_):
        probes = ""
        for number, name in enumerate(run_.work.classes):
            pattern = "/" + re.escape(name[:-1]).replace("\\", "\\\\") + ".*/" if name.endswith(".*") else name
            probes += self.places.replace("CLASS", pattern).replace("N()", f"{number}()").replace("N(@", f"{number}(@")
        source = run_.folder / "Probe.java"
        source.write_text(self.probe.replace("PROBES", probes))
        jars = os.pathsep.join(str(self.folder / f"btrace-{part}.jar") for part in ("client", "boot"))
        must([run_.bench.java, *self.opens, "-cp", jars, "org.openjdk.btrace.compiler.Compiler", source], "the probe is not compiled",
             cwd=run_.folder)
        return [*self.opens, f"-javaagent:{self.folder / 'btrace-agent.jar'}=noServer=true,script={run_.folder / 'Probe.class'},stdout=true"]

    def recorded(self, run_):
        found = re.search(r"probed=(\d+)", run_.stdout)
        if not found:
            raise Unavailable(f"the probe counted nothing: {complaint(run_.stdout)}")
        return {"calls": int(found[1])}


BARE = Tracer("bare")
# By which the calls of other works are counted.
TRUTH = Jtrail("jtrail")
# Further ways of jtrail are a line each.
TRACERS = {tracer.name: tracer for tracer in (
    BARE,
    TRUTH,
    Jtrail("jtrail clock=tick", "clock=tick"),
    Jtrail("jtrail, nothing written", output="format=none"),
    Jtrail("jtrail clock=tick, nothing written", "clock=tick", output="format=none"),
    Jtrail("jtrail engine=jvmti", "engine=jvmti"),
    JvmEvents("JVMTI events, empty callbacks"),
    Jfr("JFR MethodTrace, no stacks", stacks=False),
    Jfr("JFR MethodTrace, stacks", stacks=True),
    VisualVm("VisualVM, instrumenting"),
    AsyncProfiler("async-profiler, 1 frame", depth=1),
    AsyncProfiler("async-profiler, stacks", depth=2048),
    Kieker("Kieker"),
    BTrace("BTrace"),
)}
