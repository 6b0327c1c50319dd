"""What the agent costs at the start of a program: of one that does nothing, and of a bigger one, the Java compiler with that for its source.

CPU time is that of the whole process, as the system counts it: where the machine has other work, it says more than the wall clock does.
"""

import os
import resource
import time

from bench_lib import agent, run, version

EMPTY = "public class BenchEmpty { public static void main(String[] args) { } }"
COMPILER = "jdk.compiler"


def variants(work):
    """Options of the agent, beside those that are none."""
    usual = f"format=binary,file={work}/start.trcbin"
    return {"bare": None, "agent": usual, "details": f"{usual},events=+details", "alloc=sites": f"{usual},events=+alloc,alloc=sites",
            "clinit": f"{usual},events=+clinit"}


def programs(java, work):
    found = {"empty main": ["-cp", work, "BenchEmpty"]}
    if COMPILER in run([java, "--list-modules"]):
        source = os.path.join(work, "BenchEmpty.java")
        found["javac"] = ["-m", f"{COMPILER}/com.sun.tools.javac.Main", "-d", os.path.join(work, "start"), source]
    return found


def timed(command):
    """Wall clock and CPU time of the process, in ms."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    cpu, wall = used(), time.monotonic()
    run(command)
    return (time.monotonic() - wall) * 1000, (used() - cpu) * 1000


def measure(args, work, rows):
    rows.append(("Start: wall / CPU of the process", "", "the whole program", "more than bare"))
    for home in args.jdk:
        java = os.path.join(home, "bin", "java")
        for program, words in programs(java, work).items():
            times = {name: [] for name in variants(work)}
            for _ in range(args.rounds * 4):
                for name, options in variants(work).items():
                    times[name].append(timed([java, *([agent(options)] if options else []), *words]))
            least = {name: [min(clock) for clock in zip(*runs)] for name, runs in times.items()}
            for name, here in least.items():
                limit = "<= 60 ms more" if (program, name) == ("empty main", "agent") else ""
                more = [f"{a - b:+.0f}" for a, b in zip(here, least["bare"])]
                rows.append((f"{program}, JDK {version(home)}, {name}", limit, " / ".join(f"{ms:.0f}" for ms in here) + " ms",
                             "" if name == "bare" else " / ".join(more) + " ms"))
