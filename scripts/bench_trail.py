"""What a trail costs from the program to the report, beside another build if --before names its checkout: real work, and the writer and the reader by themselves.

The builds take turns. Work is that of bench_work.py: javac with the whole compiler traced, and eight threads, with exact and with coarse stamps, beside the bare program; times are of the least
of the later batches. One compilation's trace is then what the writer goes through in memory on one core (`writer_speed`), what encoders take in (`trail_speed`, also with helpers),
and what is read by each command: time for an event, or for 100 million of them. A build of before that has no such example has no row of it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from bench_lib import ROOT, TARGET, run
from bench_peers import BARE, Jtrail, timed
from bench_work import WORKS, Bench, Run

CLOCKS = {"exact": "", "tick": "clock=tick"}
# × bare of javac, and ns for a call of the threads.
MOST = {"javac": {"exact": "<= 8.9 x bare", "tick": "<= 3.2 x bare"}, "threads": {"exact": "<= 24 ns", "tick": "<= 7 ns"}}
MOST_BYTES = {"exact": 0.30, "tick": 0.07}
MOST_REPORT = 0.5
# What reads a whole trail, with the arguments behind it. A trail that is compared is read twice.
READERS = {"report": lambda _: [], "verify": lambda _: [], "convert": lambda _: [os.devnull, "--to", "binary"], "compare": lambda trace: [trace]}


class Build:
    """A checkout, built."""

    def __init__(self, name, root, target):
        self.name, self.root, self.target = name, root, target
        subprocess.run(["cargo", "build", "--release", "--quiet"], check=True, cwd=root, env=self.environment())

    def environment(self, **more):
        return os.environ | {"CARGO_TARGET_DIR": str(self.target)} | more

    def cargo(self, *words, **more):
        """What a command of cargo says; nothing where it is of before, and can't do it."""
        done = subprocess.run(["cargo", *words], cwd=self.root, env=self.environment(**more), capture_output=True, text=True)
        if done.returncode != 0 and self.root == ROOT:
            sys.exit(f"cargo {' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines() if done.returncode == 0 else []

    def tracer(self, clock):
        return Jtrail(f"{self.name}, {clock}", CLOCKS[clock], target=self.target)


def builds(args):
    found = [Build("now", ROOT, TARGET)]
    if args.before:
        root = args.before.resolve()
        found.insert(0, Build("before", root, root / "target"))
    return found


def later(batches):
    """The least of the batches behind the first."""
    return min(batches[1:] or batches)


def measure(args, work, rows):
    all_builds = builds(args)
    bench = Bench(args.jdk[-1], args.quick, args.limit)
    # Traces are large: where /tmp is memory, they would not fit.
    with tempfile.TemporaryDirectory(prefix="bench-", dir=TARGET) as folder:
        folder = pathlib.Path(folder)
        for name in MOST:
            real_work(args, bench, WORKS[name], all_builds, folder, rows)
        traces(args, bench, all_builds, folder, rows)


def real_work(args, bench, work, all_builds, folder, rows):
    bench.prepare(work)
    made = {}
    tracers = [BARE, *(build.tracer(clock) for clock in CLOCKS for build in all_builds)]
    for _ in range(1 if args.quick else args.rounds):
        for tracer in tracers:
            run_ = Run(bench, work, folder / "run").fresh()
            found = run_.make(tracer)
            made.setdefault(tracer.name, []).append((later(found["batches"]), tracer.recorded(run_), len(found["batches"])))
    bare = min(made[BARE.name])[0]
    for clock in CLOCKS:
        for build in all_builds:
            runs = made[build.tracer(clock).name]
            least = min(ns for ns, *_ in runs)
            lost = sum(recorded["lost"] for _, recorded, _ in runs)
            _, recorded, batches = runs[0]
            call = (least - bare) / (recorded["calls"] / batches)
            rows.append((f"{work.title}, JDK {bench.version}, {clock}, {build.name}", MOST[work.name][clock],
                         f"{least / bare:.2f} x bare, {call:.1f} ns a call more", f"{lost} lost"))


def traces(args, bench, all_builds, folder, rows):
    rounds = 1 if args.quick else args.rounds
    events = {}
    for clock in CLOCKS:
        for build in all_builds:
            what = f"javac, JDK {bench.version}, {clock}, {build.name}"
            run_ = Run(bench, WORKS["javac"], folder / build.name / clock).fresh()
            tracer = build.tracer(clock)
            run_.make(tracer, batches=1)
            trace = tracer.file(run_)
            said = run([build.target / "release" / "jtrail", "verify", trace])
            count = events[build.name, clock] = int(re.search(r"([\d,]+) events", said)[1].replace(",", ""))
            rows.append((what, f"<= {MOST_BYTES[clock]} B/event", f"{trace.stat().st_size / count:.3f} B/event", f"{count / 1e6:.0f} M events"))
    for clock in CLOCKS:
        for command, arguments in READERS.items():
            seconds = {build.name: [] for build in all_builds}
            for _ in range(rounds):
                for build in all_builds:
                    trace = folder / build.name / clock / "jtrail.trail"
                    took, _ = timed([build.target / "release" / "jtrail", command, trace, *arguments(trace)], args.limit)
                    seconds[build.name].append(took["report"] / events[build.name, clock] * 1e8)
            most = f"<= {MOST_REPORT} s for 100 M events" if command == "report" else "s for 100 M events"
            for build in all_builds:
                rows.append((f"{command}, {clock}, {build.name}", most, f"{min(seconds[build.name]):.2f} s", ""))
        for build in all_builds:
            trace = folder / build.name / clock / "jtrail.trail"
            for line in build.cargo("run", "--release", "--quiet", "-p", "jtrail-formats", "--example", "trail_speed", trace):
                rows.append((f"trail_speed, {clock}, {build.name}", "", line, ""))
            test = ["test", "--release", "--quiet", "-p", "jtrail-writer", "--lib", "--", "--ignored", "--nocapture", "writer_speed"]
            for line in build.cargo(*test, JTRAIL_TRACE=str(trace), JTRAIL_ROWS="recorded" if clock == "exact" else ""):
                if line.endswith(("PASS", "FAIL")):
                    rows.append((f"writer, {build.name}", "", line.rstrip(" PASFIL"), ""))
