"""The agent at the start of a program: of an empty one, and of the Java compiler.

CPU time is that of the whole process, as the system counts it. If the machine has other work, CPU
time says more than the wall clock.
"""

import time

from bench.session import JAVA as PROGRAMS
from bench.session import agent
from support.processes import cpu_of_children, run

JAVA = ("BenchEmpty.java",)
EXAMPLES = ()

COMPILER = "jdk.compiler"


def variants(folder):
    """The JVM's options for each variant."""
    usual = f"format=binary,file={folder}/start.trcbin"
    more = {"agent": "", "details": ",events=+details", "alloc=sites": ",events=+alloc,alloc=sites",
            "clinit": ",events=+clinit"}
    return {"bare": [], **{name: [agent(usual + options)] for name, options in more.items()}}


def programs(session, jdk):
    """What starts: the words after the JVM's options."""
    found = {"empty main": ["-cp", session.classes, "BenchEmpty"]}
    if COMPILER in run([jdk.java, "--list-modules"]):
        found["javac"] = ["-m", f"{COMPILER}/com.sun.tools.javac.Main", "-d", session.folder / "start",
                          PROGRAMS / "BenchEmpty.java"]
    return found


def timed(command):
    """Wall-clock and CPU time of a process, in ms."""
    cpu, wall = cpu_of_children(), time.monotonic()
    run(command)
    return (time.monotonic() - wall) * 1000, (cpu_of_children() - cpu) * 1000


def measure(session):
    session.add("Start: wall / CPU of the process", "", "the whole program", "more than bare")
    ways = variants(session.folder)
    for jdk in session.jdks:
        for program, words in programs(session, jdk).items():
            times = {name: [] for name in ways}
            for _ in range(session.args.rounds * 4):
                for name, options in ways.items():
                    times[name].append(timed([jdk.java, *options, *words]))
            least = {name: [min(clock) for clock in zip(*runs)] for name, runs in times.items()}
            for name, here in least.items():
                limit = "<= 60 ms more" if (program, name) == ("empty main", "agent") else ""
                more = [f"{a - b:+.0f}" for a, b in zip(here, least["bare"])]
                session.add(f"{program}, JDK {jdk.feature}, {name}", limit, " / ".join(f"{ms:.0f}" for ms in here) + " ms",
                            "" if name == "bare" else " / ".join(more) + " ms")
