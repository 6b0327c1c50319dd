"""A trail from the program to the report: real work, and the writer and the reader by themselves.

With --before, another checkout is built, and the builds take turns. Work is from
comparing/works.py: javac with the whole compiler traced, and eight threads. Both run with exact and
with coarse stamps, and bare; the time is the minimum of the later batches. The trace of one
compilation is then the input of three measurements: of the writer in memory on one core
(`writer_speed`), of encoders (`trail_speed`, also with helpers), and of each command that reads.
Their figures are times for an event, or for 100 million events. If an earlier build has no such
example, it has no row for it.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.comparing.tracers import BARE, Jtrail, timed
from bench.comparing.works import WORKS, Run, Setup
from support.paths import ROOT, TARGET
from support.processes import run

JAVA = ()
EXAMPLES = ()

CLOCKS = {"exact": "", "tick": "clock=tick"}
# × bare of javac, and ns for a call of the threads.
LIMITS = {"javac": {"exact": "<= 8.9 x bare", "tick": "<= 3.2 x bare"},
          "threads": {"exact": "<= 24 ns", "tick": "<= 7 ns"}}
MAX_BYTES = {"exact": 0.30, "tick": 0.07}
MAX_REPORT = 0.5
# Commands that read a whole trail, with the arguments after it. `compare` reads the trail twice.
READERS = {"report": lambda _: [], "verify": lambda _: [], "convert": lambda _: [os.devnull, "--to", "binary"],
           "compare": lambda trace: [trace]}


class Build:
    """A checkout, built."""

    def __init__(self, name, root, target):
        self.name, self.root, self.target = name, root, target
        self.jtrail = target / "release" / "jtrail"
        subprocess.run(["cargo", "build", "--release", "--quiet"], check=True, cwd=root, env=self.environment())

    def environment(self, **more):
        return os.environ | {"CARGO_TARGET_DIR": str(self.target)} | more

    def cargo(self, *words, **more):
        """The lines that a cargo command prints; none if the command fails in an earlier
        checkout."""
        done = subprocess.run(["cargo", *words], cwd=self.root, env=self.environment(**more), capture_output=True, text=True)
        if done.returncode != 0 and self.root == ROOT:
            sys.exit(f"cargo {' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines() if done.returncode == 0 else []

    def tracer(self, clock):
        return Jtrail(f"{self.name}, {clock}", CLOCKS[clock], target=self.target)


def builds(args):
    """The build of this checkout, after that of --before."""
    found = [Build("now", ROOT, TARGET)]
    if args.before:
        root = args.before.resolve()
        found.insert(0, Build("before", root, root / "target"))
    return found


def measure(session):
    args = session.args
    all_builds = builds(args)
    setup = Setup(session.jdks[-1], args.quick, args.limit)
    # Traces are large: if /tmp is memory, they would not fit.
    with tempfile.TemporaryDirectory(prefix="bench-", dir=TARGET) as folder:
        for name in LIMITS:
            real_work(session, setup, WORKS[name], all_builds, Path(folder))
        events = traces(session, setup, all_builds, Path(folder))
        for clock in CLOCKS:
            readers(session, setup, all_builds, Path(folder), clock, events)
            for build in all_builds:
                codecs(session, build, Path(folder), clock)


def rounds(args):
    return 1 if args.quick else args.rounds


def trace_of(folder, build, clock):
    return folder / build.name / clock / "jtrail.trail"


def real_work(session, setup, work, all_builds, folder):
    """Adds the rows of a work: × bare, and ns a call."""
    setup.prepare(work)
    runs = {}
    tracers = [BARE, *(build.tracer(clock) for clock in CLOCKS for build in all_builds)]
    for _ in range(rounds(session.args)):
        for tracer in tracers:
            one = Run(setup, work, folder / "run").clear()
            found = one.execute(tracer)
            batches = found["batches"]
            later = min(batches[1:] or batches)
            runs.setdefault(tracer.name, []).append((later, tracer.recorded(one), len(batches)))
    bare = min(runs[BARE.name])[0]
    for clock in CLOCKS:
        for build in all_builds:
            made = runs[build.tracer(clock).name]
            least = min(ns for ns, *_ in made)
            lost = sum(recorded["lost"] for _, recorded, _ in made)
            _, recorded, batches = made[0]
            call = (least - bare) / (recorded["calls"] / batches)
            session.add(f"{work.title}, JDK {setup.jdk.feature}, {clock}, {build.name}", LIMITS[work.name][clock],
                        f"{least / bare:.2f} x bare, {call:.1f} ns a call more", f"{lost} lost")


def traces(session, setup, all_builds, folder):
    """Makes the trace of one compilation with each build and clock, and adds rows of its size.
    Returns the number of events of each trace."""
    events = {}
    for clock in CLOCKS:
        for build in all_builds:
            one = Run(setup, WORKS["javac"], trace_of(folder, build, clock).parent).clear()
            tracer = build.tracer(clock)
            one.execute(tracer, batches=1)
            trace = tracer.file(one)
            said = run([build.jtrail, "verify", trace])
            count = events[build.name, clock] = int(re.search(r"([\d,]+) events", said)[1].replace(",", ""))
            session.add(f"javac, JDK {setup.jdk.feature}, {clock}, {build.name}", f"<= {MAX_BYTES[clock]} B/event",
                        f"{trace.stat().st_size / count:.3f} B/event", f"{count / 1e6:.0f} M events")
    return events


def readers(session, setup, all_builds, folder, clock, events):
    """Adds the rows of the commands that read a trail."""
    for command, arguments in READERS.items():
        seconds = {build.name: [] for build in all_builds}
        for _ in range(rounds(session.args)):
            for build in all_builds:
                trace = trace_of(folder, build, clock)
                took, _ = timed([build.jtrail, command, trace, *arguments(trace)], setup.limit)
                seconds[build.name].append(took["report"] / events[build.name, clock] * 1e8)
        limit = f"<= {MAX_REPORT} s for 100 M events" if command == "report" else "s for 100 M events"
        for build in all_builds:
            session.add(f"{command}, {clock}, {build.name}", limit, f"{min(seconds[build.name]):.2f} s")


def codecs(session, build, folder, clock):
    """Adds the rows of the encoder and of the writer in memory."""
    trace = trace_of(folder, build, clock)
    speed = ["run", "--release", "--quiet", "-p", "jtrail-formats", "--example", "trail_speed", trace]
    for line in build.cargo(*speed):
        session.add(f"trail_speed, {clock}, {build.name}", figure=line)
    test = ["test", "--release", "--quiet", "-p", "jtrail-writer", "--lib", "--",
            "--ignored", "--nocapture", "writer_speed"]
    for line in build.cargo(*test, JTRAIL_TRACE=str(trace), JTRAIL_ROWS="recorded" if clock == "exact" else ""):
        if line.endswith(("PASS", "FAIL")):
            session.add(f"writer, {build.name}", figure=line.rstrip(" PASFIL"))
