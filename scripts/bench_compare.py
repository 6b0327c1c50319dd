"""The parts `work` and `peers` of scripts/bench: works under tracers, by turns, beside the floor.

`work` takes the tracers that are here anyway, `peers` those of others too, which are fetched. With --json, the runs are added to those that the file has,
so that a long measurement can be made piece by piece; the tables are of all of them.
"""

import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tempfile

import bench_table
import real_programs_markdown
from bench_lib import ROOT, TARGET, run, version
from bench_peers import BARE, TRACERS, TRUTH
from bench_table import COUNT
from bench_work import Bench, Run, Unavailable, WORKS

# What the programs that are measured are built of.
BUILT = ("agent", "crates", "java-api", "build.rs", "Cargo.toml", "Cargo.lock")
PLACE = real_programs_markdown.marks("figures of works", "bench")


def machine(jdks, quick):
    """Where this is measured, and what."""
    try:
        names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        names = []
    git = lambda *words: subprocess.run(["git", *words, "--", *BUILT], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    commit = git("log", "-1", "--format=%h")
    runtimes = {version(home): re.search(r'JAVA_RUNTIME_VERSION="(.*)"', (pathlib.Path(home) / "release").read_text()) for home in jdks}
    return {"machine": f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}, {platform.system()}",
            "jtrail": commit + ("-changed" if git("status", "--porcelain") else "") or "of no repository",
            "size": "quick, of which figures say little" if quick else "full",
            "JDK": {feature: found[1] if found else feature for feature, found in runtimes.items()}}


class Comparison:
    def __init__(self, args, folder, peers):
        self.args, self.folder = args, pathlib.Path(folder)
        self.works = [WORKS[name] for name in args.work or WORKS]
        self.tracers = [tracer for tracer in TRACERS.values() if (peers or not tracer.is_peer) and tracer.name in (args.tracer or TRACERS)]
        if BARE not in self.tracers:
            self.tracers.insert(0, BARE)
        self.machine = machine(args.jdk, args.quick)
        self.runs, self.floors = bench_table.load(args.json, self.machine)

    def measure(self):
        rounds = 1 if self.args.quick else self.args.rounds
        for home in self.args.jdk:
            bench = Bench(home, self.args.quick, self.args.limit)
            works = [work for work in self.works if bench.version >= work.since]
            tracers = self.ready(bench, works)
            for work in works:
                try:
                    bench.prepare(work)
                except Unavailable as reason:
                    self.note(bench, work, BARE.name, {"failed": str(reason)})
                    continue
                self.floors.append(float(run([TARGET / "release" / "examples" / "floor"])))
                for _ in range(rounds * (1 if self.args.quick else work.rounds)):
                    for tracer in tracers:
                        self.once(bench, work, tracer)
                self.count(bench, work)

    def ready(self, bench, works):
        """The tracers that can be had; why others cannot is noted for each work."""
        found = []
        for tracer in self.tracers:
            try:
                if reason := tracer.lacks(bench):
                    raise Unavailable(reason)
                tracer.prepare(bench)
                found.append(tracer)
            except (Unavailable, SystemExit) as reason:
                for work in works:
                    self.note(bench, work, tracer.name, {"failed": str(reason)})
        return found

    def note(self, bench, work, name, found):
        here = {"work": work.name, "jdk": bench.version, "tracer": name}
        if "failed" in found:
            self.runs = [known for known in self.runs if not ("failed" in known and here.items() <= known.items())]
        self.runs.append(here | found)
        self.save()
        print(f"{work.name}, Java {bench.version}, {name}: {found.get('failed') or brief(found)}", file=sys.stderr)

    def known(self, bench, work, name):
        return bench_table.select(self.runs, work.name, bench.version, name)

    def once(self, bench, work, tracer, name="", batches=0):
        """One run. What has failed is not tried again, and what was counted is not counted again."""
        name = name or tracer.name
        known = self.known(bench, work, name)
        if any("failed" in found for found in known):
            return
        made = Run(bench, work, self.folder / "run").fresh()
        try:
            found = made.make(tracer, batches)
            if not any("calls" in other for other in known):
                found |= tracer.recorded(made)
                # It can take long, and a run that only counts needs none.
                found |= tracer.report(made) if name != COUNT else {}
            if found.get("calls") == 0:
                raise Unavailable("it runs, and records not one call")
        except Unavailable as reason:
            # The table has no use for where that was.
            found = {"failed": str(reason).replace(f"{made.folder}{os.sep}", "")}
        self.note(bench, work, name, found)

    def count(self, bench, work):
        """Where the program does not know its calls: how many there are in a first batch."""
        needs = not (work.is_exact or work.is_server) and TRUTH in self.tracers
        if needs and not self.known(bench, work, COUNT):
            self.once(bench, work, TRUTH, COUNT, 1)

    def save(self):
        if self.args.json:
            text = json.dumps(bench_table.document(self.runs, self.floors, self.machine), indent=1)
            part = self.args.json.with_name(self.args.json.name + ".part")
            part.write_text(text + "\n", encoding="utf-8")
            part.replace(self.args.json)

    def print(self):
        floor = min(self.floors, default=None)
        if floor:
            print(f"floor: {floor:.2f} ns for two time stamps and two stores")
        print("\n".join(bench_table.text(self.runs, floor)), flush=True)
        if self.args.markdown:
            real_programs_markdown.put(self.args.markdown, PLACE, bench_table.markdown(self.runs, floor, self.machine))


def brief(found):
    times = [bench_table.duration(ns) for ns in found["batches"]]
    counted = f", {found['calls']:,} calls" if "calls" in found else ""
    return f"{' '.join(times)}{counted}, {found['peak_mb']:.0f} MB"


def measure(args, _work, _rows, peers=False):
    # Whoever ends this, ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))
    # Traces are large: where /tmp is memory, they would not fit.
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=TARGET) as folder:
        comparison = Comparison(args, folder, peers)
        if args.rounds:
            comparison.measure()
        comparison.print()


def measure_peers(args, work, rows):
    measure(args, work, rows, peers=True)
