"""Works under tracers, in turns, beside the floor."""

import os
import signal
import sys
import tempfile
from pathlib import Path

from bench.comparing import results, tables
from bench.comparing.figures import COUNT, select
from bench.comparing.others import TRACERS
from bench.comparing.tracers import BARE, TRUTH
from bench.comparing.works import WORKS, Run, Setup
from bench.session import floor
from support import pages
from support.errors import Unavailable
from support.paths import TARGET

FIGURES = pages.marks("figures of works", "bench")


class Comparison:
    """All runs: those that the file of --json has, and those that are made now."""

    def __init__(self, args, jdks, folder, peers):
        self.args, self.jdks, self.folder = args, jdks, folder
        self.works = [WORKS[name] for name in args.work or WORKS]
        self.tracers = [tracer for tracer in TRACERS.values()
                        if (peers or not tracer.is_peer) and tracer.name in (args.tracer or TRACERS)]
        if BARE not in self.tracers:
            self.tracers.insert(0, BARE)
        self.machine = results.machine(jdks, args.quick)
        self.runs, self.floors = results.load(args.json, self.machine)

    def measure(self):
        """Runs all works under all tracers."""
        rounds = 1 if self.args.quick else self.args.rounds
        for jdk in self.jdks:
            setup = Setup(jdk, self.args.quick, self.args.limit)
            works = [work for work in self.works if jdk.feature >= work.since]
            tracers = self.available(setup, works)
            for work in works:
                try:
                    setup.prepare(work)
                except Unavailable as reason:
                    self.note(setup, work, BARE.name, {"failed": str(reason)})
                    continue
                self.floors.append(floor())
                for _ in range(rounds * (1 if self.args.quick else work.rounds)):
                    for tracer in tracers:
                        self.run(setup, work, tracer)
                self.count(setup, work)

    def available(self, setup, works):
        """Returns the available tracers. For any other one, notes the reason under each work."""
        found = []
        for tracer in self.tracers:
            try:
                if reason := tracer.lacks(setup.jdk):
                    raise Unavailable(reason)
                tracer.prepare(setup)
                found.append(tracer)
            except Unavailable as reason:
                for work in works:
                    self.note(setup, work, tracer.name, {"failed": str(reason)})
        return found

    def note(self, setup, work, name, found):
        """Adds a run, and saves all runs."""
        key = {"work": work.name, "jdk": setup.jdk.feature, "tracer": name}
        if "failed" in found:
            self.runs = [known for known in self.runs if not ("failed" in known and key.items() <= known.items())]
        self.runs.append(key | found)
        results.save(self.args.json, self.runs, self.floors, self.machine)
        print(f"{work.name}, Java {setup.jdk.feature}, {name}: {found.get('failed') or brief(found)}", file=sys.stderr)

    def known(self, setup, work, name):
        return select(self.runs, work.name, setup.jdk.feature, name)

    def run(self, setup, work, tracer, name="", batches=0):
        """Makes one run. A tracer that has failed does not run again; calls are counted only
        once."""
        name = name or tracer.name
        known = self.known(setup, work, name)
        if any("failed" in found for found in known):
            return
        one = Run(setup, work, self.folder / "run").clear()
        try:
            found = one.execute(tracer, batches)
            if not any("calls" in other for other in known):
                found |= tracer.recorded(one)
                # A report can take long, and a run that only counts calls needs none.
                found |= tracer.report(one) if name != COUNT else {}
            if found.get("calls") == 0:
                raise Unavailable("it runs, and records not one call")
        except Unavailable as reason:
            # The table should not show the scratch folder's name.
            found = {"failed": str(reason).replace(f"{one.folder}{os.sep}", "")}
        self.note(setup, work, name, found)

    def count(self, setup, work):
        """Counts the calls of a first batch, if the program does not know them."""
        needs = not (work.is_exact or work.is_server) and TRUTH in self.tracers
        if needs and not self.known(setup, work, COUNT):
            self.run(setup, work, TRUTH, COUNT, 1)

    def print(self):
        """Prints the tables of all runs, and puts them into the page of --markdown."""
        least = min(self.floors, default=None)
        if least:
            print(f"floor: {least:.2f} ns for two time stamps and two stores")
        print("\n".join(tables.text(self.runs, least)), flush=True)
        if self.args.markdown:
            pages.put(self.args.markdown, FIGURES, tables.markdown(self.runs, least, self.machine))


def brief(found):
    """Describes a run in a line."""
    times = [tables.duration(ns) for ns in found["batches"]]
    counted = f", {found['calls']:,} calls" if "calls" in found else ""
    return f"{' '.join(times)}{counted}, {found['peak_mb']:.0f} MB"


def run(session, peers):
    """Runs works under tracers, and prints their tables. `peers`: also under others' tracers."""
    # SIGTERM, too, ends the processes that are running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))
    # Traces are large: if /tmp is memory, they would not fit.
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=TARGET) as folder:
        comparison = Comparison(session.args, session.jdks, Path(folder), peers)
        if session.args.rounds:
            comparison.measure()
        comparison.print()
