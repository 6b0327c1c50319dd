"""Other projects' tracers. If they are asked for, their usual client (mvn, apt-get) fetches them
into target/bench.

If one is not available, or cannot do a work, the table says why.
"""

import os
import re
import shutil
import zipfile

from bench.comparing.tracers import OWN, Tracer, counted_by_jfr, size
from bench.comparing.works import CACHE
from bench.session import JAVA
from support.downloads import fetch_debian, fetch_jar
from support.errors import Unavailable, complaint
from support.java import compile_java
from support.processes import require

PEERS = CACHE / "peers"
KIEKER = "net.kieker-monitoring:kieker:2.0.2:aspectj"
ASYNC_PROFILER = "tools.profiler:async-profiler:4.2"
BTRACE = {part: f"io.btrace:btrace-{part}:2.2.6" for part in ("agent", "boot", "client")}
VISUALVM = ("visualvm", "libvisualvm-jni")


class VisualVm(Tracer):
    """VisualVM's instrumenting profiler, with a client that has no windows
    (java/peers/VisualVmClient.java)."""

    is_peer = True
    until = 19
    port = 5140

    def lacks(self, jdk):
        if jdk.feature > self.until:
            return (f"VisualVM 2.1.5 does not know Java {jdk.feature}: its server ends with UnsatisfiedLinkError in "
                    "GC.activateGCEpochCounter")
        return super().lacks(jdk)

    def prepare(self, setup):
        files, native = (fetch_debian(CACHE / "debian", package) for package in VISUALVM)
        self.folder = PEERS / "visualvm-libs"
        # The place where the profiler looks for its parts.
        library = self.folder / "deployed" / "jdk16" / "linux-amd64" / "libprofilerinterface.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(native / "usr/lib/jni/libprofilerinterface-jdk16.so", library)
        modules = files / "usr/share/visualvm/visualvm"
        for jar in (modules / "lib").glob("jfluid-server*.jar"):
            shutil.copy(jar, self.folder)
        self.library = library
        self.class_path = [PEERS / "visualvm-client", *(modules / "modules").glob("*-lib-jfluid*.jar"),
                           *(modules / "modules").glob("*-lib-common.jar")]
        compile_java(setup.jdk, JAVA / "peers" / "VisualVmClient.java", self.class_path[1:], self.class_path[0])
        self.state = PEERS / f"visualvm-{setup.jdk.feature}"
        self.state.mkdir(exist_ok=True)
        require(self.client(setup.jdk, "calibrate"), "VisualVM cannot be calibrated", timeout=60)

    def client(self, jdk, *words):
        return [jdk.java, f"-Dnbprofiler.home={self.state}", "-cp", os.pathsep.join(map(str, self.class_path)),
                "VisualVmClient", self.folder, self.port, jdk.java, f"{jdk.feature}.0", *words]

    def java(self, run):
        return [f"-agentpath:{self.library}={self.folder},{self.port},30"]

    def beside(self, run):
        return self.client(run.setup.jdk, *(name.replace(".*", ".**") for name in run.work.classes))

    def recorded(self, run):
        calls, micros = map(int, re.search(r"calls=(\d+) micros=(\d+)", run.beside).groups())
        return {"calls": calls, "report": micros / 1e6}


class AsyncProfiler(Tracer):
    """async-profiler's tracing of methods. Each call records its stack, however deep it is."""

    is_peer = True

    def __init__(self, name, depth):
        super().__init__(name)
        self.depth = depth

    def prepare(self, setup):
        jar = fetch_jar(PEERS, ASYNC_PROFILER)
        entry = f"linux-{'arm64' if os.uname().machine == 'aarch64' else 'x64'}/libasyncProfiler.so"
        with zipfile.ZipFile(jar) as file:
            file.extract(entry, jar.parent)
        self.library = jar.parent / entry

    def java(self, run):
        # All methods of a class, or of a package that is written with a star.
        traces = ",".join(f"trace={name}.*" for name in run.work.classes)
        return [f"-agentpath:{self.library}=start,{traces},jstackdepth={self.depth},jfr,file={self.file(run)}"]

    @staticmethod
    def file(run):
        return run.folder / "async.jfr"

    def recorded(self, run):
        events, took = counted_by_jfr(run, self.file(run))
        return {"calls": events.get("MethodTrace", 0), "bytes": size([self.file(run)])} | took


class Kieker(Tracer):
    """Kieker's probe of all executions. AspectJ's agent inserts the probe; Kieker writes binary
    files."""

    is_peer = True
    # Bytes of an execution's record, and of the record at the start of the first file.
    record, head = 56, 49

    def prepare(self, setup):
        self.jar = fetch_jar(PEERS, KIEKER)

    def java(self, run):
        within = "".join(f'<include within="{name.replace(".*", "..*")}"/>' for name in run.work.classes)
        aspects = run.folder / "aop.xml"
        aspects.write_text(f'<aspectj><weaver options="">{within}</weaver><aspects><aspect name='
                           '"kieker.monitoring.probe.aspectj.operationExecution.OperationExecutionAspectFull"/></aspects></aspectj>')
        (run.folder / "kieker").mkdir()
        writer = "kieker.monitoring.writer.filesystem.FileWriter"
        properties = {
            "kieker.monitoring.skipDefaultAOPConfiguration": "true",
            "org.aspectj.weaver.loadtime.configuration": f"file:{aspects}",
            "kieker.monitoring.writer": writer,
            f"{writer}.customStoragePath": run.folder / "kieker",
            f"{writer}.logStreamHandler": "kieker.monitoring.writer.filesystem.BinaryLogStreamHandler",
            f"{writer}.maxEntriesInFile": 1_000_000_000,  # the default makes thousands of files
            # The default suits one thread. With several, they soon wait for ever.
            "kieker.monitoring.core.controller.WriterController.QueuePutStrategy":
                "kieker.monitoring.queue.putstrategy.YieldPutStrategy",
        }
        return [f"-javaagent:{self.jar}", *(f"-D{key}={value}" for key, value in properties.items())]

    def recorded(self, run):
        files = [path for path in (run.folder / "kieker").rglob("*") if path.is_file()]
        records = size(path for path in files if path.suffix == ".bin")
        return {"calls": max(0, (records - self.head) // self.record), "bytes": size(files)}


class BTrace(Tracer):
    """A probe of BTrace at each enter and each leave (java/peers/Probe.java.in). It writes
    nothing."""

    is_peer = True
    opens = [word for package in ("java.lang", "jdk.internal.reflect", "jdk.internal.perf")
             for word in ("--add-opens", f"java.base/{package}=ALL-UNNAMED", "--add-exports", f"java.base/{package}=ALL-UNNAMED")]

    def lacks(self, jdk):
        if jdk.feature >= 24:
            return (f"BTrace 2.2.6 does not know Java {jdk.feature}: it says «sun.security.action not in module», and "
                    "probes nothing")
        return super().lacks(jdk)

    def prepare(self, setup):
        self.folder = PEERS / "btrace"
        self.folder.mkdir(parents=True, exist_ok=True)
        for part, artifact in BTRACE.items():
            # The jars look for each other by these names.
            shutil.copy(fetch_jar(PEERS, artifact), self.folder / f"btrace-{part}.jar")

    @staticmethod
    def pattern(classes):
        """A regular expression for the names of classes and packages, as a literal of Java."""
        names = (re.escape(name[:-1]) + ".*" if name.endswith(".*") else re.escape(name) for name in classes)
        return "|".join(names).replace("\\", "\\\\")

    def java(self, run):
        template = (JAVA / "peers" / "Probe.java.in").read_text()
        source = run.folder / "Probe.java"
        source.write_text(template.replace("CLASSES", self.pattern(run.work.classes)))
        jars = os.pathsep.join(str(self.folder / f"btrace-{part}.jar") for part in ("client", "boot"))
        require([run.setup.jdk.java, *self.opens, "-cp", jars, "org.openjdk.btrace.compiler.Compiler", source],
                "the probe is not compiled", cwd=run.folder)
        return [*self.opens, f"-javaagent:{self.folder / 'btrace-agent.jar'}=noServer=true,"
                             f"script={run.folder / 'Probe.class'},stdout=true"]

    def recorded(self, run):
        found = re.search(r"probed=(\d+)", run.stdout)
        if not found:
            raise Unavailable(f"the probe counted nothing: {complaint(run.stdout)}")
        return {"calls": int(found[1])}


# All tracers, in the order of the tables.
TRACERS = {tracer.name: tracer for tracer in (
    *OWN,
    VisualVm("VisualVM, instrumenting"),
    AsyncProfiler("async-profiler, 1 frame", depth=1),
    AsyncProfiler("async-profiler, stacks", depth=2048),
    Kieker("Kieker"),
    BTrace("BTrace"),
)}
