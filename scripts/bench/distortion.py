"""What recording does to the shares of time that a program's parts seem to take.

A program calls eight methods, which spin for 5 ns to 5 ms. Each is called in a loop of its own, so
often that all loops take about the same time. The truth is the time of each loop in the bare
program, by its own clock. It is compared with the shares of the loops in traces with both clocks,
and in a recording of the JVM's own sampler (JFR, every 10 ms), if there is one. The error of a loop
is how far its share is from the true share, in percentage points.
"""

import json
import re
import statistics

from bench.session import agent, write_jfr_settings
from support.paths import JTRAIL
from support.processes import run

JAVA = ("BenchSpins.java",)
EXAMPLES = ()

SPINS = ("ns5", "ns20", "ns100", "us1", "us10", "us100", "ms1", "ms5")
# Enough rounds for the sampler, which takes a sample every 10 ms.
ROUNDS = 100


def shares(times):
    """Times as percentages of their sum."""
    whole = sum(times.values())
    return {name: 100 * time / whole for name, time in times.items()}


def of_program(output):
    """Time in each loop, by the program itself."""
    return {name: int(time) for name, time in (line.split() for line in output.splitlines() if " " in line)}


def of_trace(path):
    """Time in each loop, by the trace."""
    report = json.loads(run([JTRAIL, "report", path, "--only", "methods", "--format", "json", "--top", "0"]))
    times = {}
    for method in report["methods"]:
        found = re.search(r"\.loop_(\w+)\(", method["method"])
        if found:
            times[found[1]] = method["total_ns"]
    return times


def of_jfr(jdk, path):
    """Samples in each loop."""
    text = run([jdk.tool("jfr"), "print", "--events", "jdk.ExecutionSample", "--stack-depth", "8", path])
    times = dict.fromkeys(SPINS, 0)
    for sample in text.split("jdk.ExecutionSample")[1:]:
        found = re.search(rf"BenchSpins\.(?:loop_)?({'|'.join(SPINS)})\(", sample)
        if found:
            times[found[1]] += 1
    return times


def ways(session, jdk):
    """The ways to run the program, by name: the JVM's options, and the function that gets the
    times, which may use the program's output."""
    trail, recording = session.folder / "spins.trail", session.folder / "spins.jfr"
    found = {"bare": ([], of_program)}
    for clock in ("exact", "tick"):
        options = agent(f"format=trail,file={trail},include=BenchSpins,clock={clock}")
        found[f"clock={clock}"] = [options], lambda _: of_trace(trail)
    if jdk.tool("jfr"):
        settings = write_jfr_settings(session.folder / "spins.jfc",
                                      {"ExecutionSample": {"enabled": "true", "period": "10 ms"}})
        options = f"-XX:StartFlightRecording=settings={settings},filename={recording}"
        found["JFR, every 10 ms"] = [options], lambda _: of_jfr(jdk, recording)
    return found


def measure(session):
    for jdk in session.jdks:
        turns = session.java(jdk, [], "BenchSpins").strip()
        found = {}
        for _ in range(max(1, session.args.rounds // 2)):
            for name, (options, times) in ways(session, jdk).items():
                output = session.java(jdk, [*options, f"-Dturns={turns}"], "BenchSpins", ROUNDS)
                found.setdefault(name, []).append(shares(times(output)))
        median = {name: {spin: statistics.median(run[spin] for run in runs) for spin in SPINS} for name, runs in found.items()}
        truth = median["bare"]
        for name, share in median.items():
            off = max(abs(share[spin] - truth[spin]) for spin in SPINS)
            session.add(f"shares of eight loops, JDK {jdk.feature}, {name}, in %", "",
                        "  ".join(f"{spin} {share[spin]:.1f}" for spin in SPINS),
                        "" if name == "bare" else f"off by up to {off:.1f}")
