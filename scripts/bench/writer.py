"""The writer of a trail: alone in memory, and beside a program that calls without end.

The writer alone is a test (crates/writer/src/tests/speed.rs): it reads chunks of made-up records
and writes the bytes of segments. The program calls fib(32) over and over for ten seconds. If the
system has two cores, it has one of its own. Every call is in a trail on disk. `jtrail verify` tells
whether something is lost. The floor of the same run is two time stamps and two stores.
"""

import re

from bench.session import agent, floor
from support.paths import JTRAIL, ROOT
from support.processes import run

JAVA = ("BenchFib.java",)
EXAMPLES = (("testkit", "floor"),)

SECONDS = 10
MAX_NS = {"exact": 23.5, "tick": 12}  # for a call, with enter and leave
MAX_BYTES = 0.3  # for an event


def measure(session):
    test = ["cargo", "test", "--release", "--quiet", "-p", "jtrail-writer", "--lib", "--",
            "--ignored", "--nocapture", "writer_speed"]
    for line in run(test, cwd=ROOT).splitlines():
        if line.endswith(("aim M/s", "PASS", "FAIL")):
            session.add("writer", figure=line.rstrip())
    trail = session.folder / "bench.trail"
    for jdk in session.jdks:
        least = floor()
        for clock, most in MAX_NS.items():
            options = agent(f"format=trail,file={trail},include=BenchFib,clock={clock}")
            ns = float(session.java(jdk, [options], "BenchFib", SECONDS))
            found = run([JTRAIL, "verify", trail])
            events, lost = (int(number.replace(",", ""))
                            for number in re.search(r"([\d,]+) events, events lost: ([\d,]+)", found).groups())
            size = trail.stat().st_size / events
            trail.unlink()
            verdict = "PASS" if ns <= most and lost == 0 and size <= MAX_BYTES else "FAIL"
            session.add(f"fib(32) for {SECONDS} s to a trail, clock={clock}, JDK {jdk.feature}",
                        f"<= {most} ns, {MAX_BYTES} B/event, none lost",
                        f"{ns:.2f} ns, {size:.2f} B/event, {lost} of {events / 1e6:.0f} M lost",
                        f"{ns / least:.3f} x floor  {verdict}")
