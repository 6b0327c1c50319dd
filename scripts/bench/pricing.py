"""How sections price events: ways to run a program take turns, and the minimum of the batches
counts."""

import dataclasses
import os
import re
import statistics
import subprocess

from bench.session import agent, example, write_jfr_settings
from support.processes import run

# An agent that does only what its options say (agent/examples/tag_floor.rs).
FLOOR = example("libtag_floor.so")
HEAD = ("wall / CPU of the thread / CPU of the process", "", "each time", "more than bare")


@dataclasses.dataclass
class Variant:
    """One way to run a program: bare, with the agent, or with JFR."""

    name: str
    events: str = ""  # kinds of events, and further options of the agent; empty: no agent
    jfr: tuple = ()  # events of JFR
    stacks: bool = False  # whether JFR takes their stacks
    since: int = 11  # the first JDK that has the events of JFR
    period: int = 1  # ms between the events that JFR takes at intervals
    output: str = "format=none"
    total: str = ""  # the name of its records in the agent's totals, which are compared with what was done
    limit: str = ""  # what it should cost
    floor: str = ""  # options of the floor's agent, in place of ours
    program: str = ""  # if not the case's own


BARE = Variant("bare")
NULL = "format=binary,file=/dev/null"
# The program of most cases.
PROGRAM = ("BenchEvents.java", "BenchLines.java.in")


def traced(name, events, **more):
    """A variant with the agent, which records these events beside threads."""
    return Variant(name, f"events=threads+{events}", **more)


@dataclasses.dataclass
class Case:
    """A program, and the ways to run it."""

    name: str
    program: str
    times: int  # how often a batch does it
    variants: list
    batches: int = 5
    records: float = 1  # how many the agent records each time
    argument: str = ""
    per: int = 0  # how often a batch does what the price is for, if not `times`
    together: bool = False  # all threads on one processor
    main: str = "BenchEvents"  # the class
    jvm: tuple = ()  # options of the JVM; {folder} is the scratch folder
    since: int = 11  # the first JDK that can run it


class Runner:
    """Runs programs in one JVM."""

    def __init__(self, session, jdk):
        self.session, self.jdk = session, jdk

    def batches(self, case, options, program=""):
        """Runs a case once. Returns the three clocks of each batch."""
        jvm = (option.format(folder=self.session.folder) for option in case.jvm)
        command = [self.jdk.java, "-Xms512m", "-Xmx512m", *jvm, *options, "-cp", self.session.classes, case.main,
                   program or case.program, case.times, case.batches, case.argument]
        on_one = (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})) if case.together else None
        clocks = [tuple(map(int, line.split())) for line in run(command, preexec_fn=on_one).splitlines()
                  if re.fullmatch(r"\d+ \d+ \d+", line)]
        assert len(clocks) == case.batches, clocks
        return clocks

    def options(self, variant):
        """The options of the JVM for a variant."""
        if variant.jfr:
            return self.jfr(variant)
        if variant.floor:
            return [f"-agentpath:{FLOOR}={variant.floor}"]
        return [agent(f"{variant.output},{variant.events}")] if variant.events else []

    @property
    def recording(self):
        return self.session.folder / "events.jfr"

    def jfr(self, variant):
        settings = {"enabled": "true", "threshold": "0 ns", "throttle": "off", "period": f"{variant.period} ms",
                    "stackTrace": str(variant.stacks).lower()}
        path = write_jfr_settings(self.session.folder / "events.jfc", dict.fromkeys(variant.jfr, settings))
        return [f"-XX:StartFlightRecording:settings={path},filename={self.recording},dumponexit=true,maxsize=2g",
                "-XX:FlightRecorderOptions:stackdepth=16"]

    def recorded_by_jfr(self, variant):
        """The number of events in the last recording."""
        summary = run([self.jdk.tool("jfr"), "summary", self.recording])
        return sum(int(re.search(rf"^ jdk\.{event} +(\d+)", summary, re.M)[1]) for event in variant.jfr)

    def recorded_by_us(self, case, variant):
        """The number of events that the agent itself counts, from the totals at the end of a
        trace."""
        pipe = self.session.folder / "pipe"
        if not pipe.exists():
            os.mkfifo(pipe)
        with subprocess.Popen(["tail", "-c", "65536", pipe], stdout=subprocess.PIPE) as tail:
            self.batches(case, [agent(f"format=binary,file={pipe},{variant.events}")])
            end, _ = tail.communicate()
        totals = re.findall(rb"jtrail totals ([^\0]*?)[\"<\0\n]", end + b"\0")
        return int(re.search(rf"\b{variant.total}=(\d+)".encode(), totals[-1])[1])

    def interleaved(self, case, rounds):
        """Runs all variants in turns. Returns each variant's batches, and how many events a run
        records, where that is known."""
        variants = [variant for variant in case.variants if self.jdk.feature >= variant.since]
        batches = {variant.name: [] for variant in variants}
        recorded = {}
        for _ in range(rounds):
            for variant in variants:
                batches[variant.name].append(self.batches(case, self.options(variant), variant.program))
                if variant.jfr and variant.name not in recorded:
                    recorded[variant.name] = self.recorded_by_jfr(variant)
        for variant in variants:
            if variant.total:
                recorded[variant.name] = self.recorded_by_us(case, variant)
        return batches, recorded


def least(runs):
    """The minimum of each clock.

    The JVM counts the CPU time of the process in steps of 10 ms. So the minimum is that of the
    runs' means over all batches but the first, which warms up.
    """
    wall, thread, _ = (min(clock) for clock in zip(*(batch for batches in runs for batch in batches)))
    late = (batches[1:] or batches for batches in runs)
    return [wall, thread, min(sum(batch[2] for batch in batches) / len(batches) for batches in late)]


def figures(values, sign=""):
    """The three clocks as text."""
    return " / ".join(f"{value:{sign},.{1 if abs(value) < 100 else 0}f}" for value in values)


def ratios(here, bare):
    """The three clocks as multiples of the bare program's."""
    return " / ".join(f"{a / b:.3f}" for a, b in zip(here, bare)) + " x bare"


def prices(runner, case, medians=False):
    """Adds the rows of a case. Returns the least clocks of each variant."""
    per = case.per or case.times
    batches, recorded = runner.interleaved(case, runner.session.args.rounds)
    bare = [clock / per for clock in least(batches["bare"])]
    for variant in case.variants:
        if variant.name not in batches:
            continue
        here = [clock / per for clock in least(batches[variant.name])]
        more = "" if variant is BARE else figures([a - b for a, b in zip(here, bare)], "+")
        if variant.name in recorded:
            # A contended enter or a wait is one event of JFR, and two of ours.
            expected = case.batches * per * (1 if variant.jfr else case.records)
            more += f"; recorded {recorded[variant.name]:,} of {expected:,}"
        if medians:
            clocks = zip(*(least([run]) for run in batches[variant.name]))
            more += f"; median of the runs {figures([statistics.median(clock) / per for clock in clocks])} ns"
        runner.session.add(f"{case.name}, JDK {runner.jdk.feature}, {variant.name}", variant.limit, f"{figures(here)} ns", more)
    return {name: least(runs) for name, runs in batches.items()}
