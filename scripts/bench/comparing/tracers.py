"""The tracers that need no download: jtrail with different options, and what the JVM itself has.

Each class tells how its tracer is started. Afterwards it tells how many calls the tracer has
recorded, in how many bytes, how many were lost, and how long it takes to sum them up.
"""

import re
import subprocess
import time

from bench.session import agent, example, write_jfr_settings
from support.errors import Unavailable, complaint
from support.paths import TARGET
from support.processes import require


def timed(command, limit):
    """Runs a command of a report. Returns its seconds, which are at most the limit, and its
    output."""
    began = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"report": limit, "is_late": True}, ""
    if done.returncode != 0:
        raise Unavailable(f"no report: {complaint(done.stdout + done.stderr)}")
    return {"report": time.monotonic() - began}, done.stdout


def size(files):
    """Bytes of all files."""
    return sum(path.stat().st_size for path in files)


def counted_by_jfr(run, file):
    """Returns how many events of each kind a recording has, and the seconds of counting them.

    JFR has no report about these events; counting them comes nearest to one.
    """
    took, said = timed([run.setup.jdk.home / "bin" / "jfr", "summary", file], run.setup.limit)
    if not said:
        raise Unavailable(f"its events cannot be counted in {run.setup.limit:.0f} s")
    return {kind: int(count) for kind, count in re.findall(r"^ jdk\.(\w+) +(\d+)", said, re.M)}, took


class Tracer:
    """One way to run a program. This class itself runs it bare."""

    since = 11  # the first JDK that it supports
    is_peer = False  # it is fetched from a registry

    def __init__(self, name):
        self.name = name

    def lacks(self, jdk):
        """Why the tracer does not work with a JDK, or None."""
        return f"needs Java {self.since}" if jdk.feature < self.since else None

    def prepare(self, setup):
        """Fetches and compiles what the tracer needs."""

    def java(self, run):
        """The tracer's options of the JVM."""
        return []

    def beside(self, run):
        """A command that has to run beside the program, or None."""
        return None

    def recorded(self, run):
        """What the tracer knows of the recorded calls: `calls`, `bytes` and `lost`. Also the
        seconds of its `report` if it makes one by itself."""
        return {}

    def report(self, run):
        """The seconds of a report that a command makes."""
        return {}


class Jtrail(Tracer):
    """jtrail of a build."""

    def __init__(self, name, options="", output="format=trail", target=TARGET):
        super().__init__(name)
        self.options, self.output, self.target = options, output, target
        self.jtrail = target / "release" / "jtrail"

    @property
    def writes(self):
        return self.output != "format=none"

    def java(self, run):
        words = [self.output, *([f"file={self.file(run)}"] if self.writes else []), *filter(None, [self.options]),
                 *(f"include={name}" for name in run.work.classes)]
        return [agent(",".join(words), self.target)]

    @staticmethod
    def file(run):
        return run.folder / "jtrail.trail"

    def recorded(self, run):
        if not self.writes:
            return {}
        said = require([self.jtrail, "verify", "--counts", self.file(run)], "jtrail verify")

        def number(what):
            found = re.search(rf"\b{what}: ([\d,]+)", said)
            return int(found[1].replace(",", "")) if found else 0

        return {"calls": number("MethodEnter"), "lost": number("events lost"), "bytes": size([self.file(run)])}

    def report(self, run):
        return timed([self.jtrail, "report", self.file(run)], run.setup.limit)[0] if self.writes else {}


class JvmEvents(Tracer):
    """The JVM's own events of calls, with callbacks that do nothing
    (agent/examples/method_events.rs)."""

    def java(self, run):
        return [f"-agentpath:{example('libmethod_events.so')}"]


class Jfr(Tracer):
    """The JVM's own recorder, whose method tracing takes classes by name."""

    since = 25

    def __init__(self, name, stacks):
        super().__init__(name)
        self.stacks = stacks

    def java(self, run):
        settings = {"enabled": "true", "threshold": "0 ns", "stackTrace": str(self.stacks).lower(),
                    "filter": ";".join(run.setup.names(run.work))}
        path = write_jfr_settings(run.folder / "calls.jfc", {"MethodTrace": settings})
        # Without `maxsize=0`, JFR throws the oldest calls away.
        return [f"-XX:StartFlightRecording:settings={path},filename={self.file(run)},dumponexit=true,maxsize=0",
                "-Xlog:jfr*=off"]

    @staticmethod
    def file(run):
        return run.folder / "calls.jfr"

    def recorded(self, run):
        events, took = counted_by_jfr(run, self.file(run))
        found = {"calls": events["MethodTrace"], "bytes": size([self.file(run)])} | took
        # DataLoss events have the bytes of lost buffers, but not the number of calls in them.
        return found if events.get("DataLoss") else found | {"lost": 0}


BARE = Tracer("bare")
# The tracer that counts the calls of a work if the work does not.
TRUTH = Jtrail("jtrail")
OWN = (
    BARE,
    TRUTH,
    Jtrail("jtrail clock=tick", "clock=tick"),
    Jtrail("jtrail, nothing written", output="format=none"),
    Jtrail("jtrail clock=tick, nothing written", "clock=tick", output="format=none"),
    Jtrail("jtrail engine=jvmti", "engine=jvmti"),
    JvmEvents("JVMTI events, empty callbacks"),
    Jfr("JFR MethodTrace, no stacks", stacks=False),
    Jfr("JFR MethodTrace, stacks", stacks=True),
)
