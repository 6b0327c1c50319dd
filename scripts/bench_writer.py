"""How fast records become a trail: the writer alone, in memory, and a program that calls without end.

The writer alone is a test of its own (crates/writer/src/tests/speed.rs): from chunks of made-up records to the bytes of segments. The program
is fib(32) over and over for ten seconds, on a core of its own as far as the system has two, with every call in a trail on disk; `jtrail verify` says
whether something is lost. Beside it stands the floor of the same run: two time stamps and two stores.
"""

import os
import re

from bench_lib import ROOT, TARGET, agent, run, version

SECONDS = 10
MOST_NS = {"exact": 23.5, "tick": 12}  # for a call, with enter and leave
MOST_BYTES = 0.3  # for an event
PROGRAM = r"""
public class BenchTrail {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] args) {
        for (int i = 0; i < 5; i++) fib(32);
        long end = Long.parseLong(args[0]) * 1_000_000_000L, calls = 0, start = System.nanoTime(), time;
        do {
            if (fib(32) != 2178309) throw new AssertionError();
            calls += 7_049_155;
            time = System.nanoTime() - start;
        } while (time < end);
        System.out.println((double) time / calls);
    }
}
"""


def measure(args, work, rows):
    test = ["cargo", "test", "--release", "--quiet", "-p", "jtrail-writer", "--lib", "--", "--ignored", "--nocapture", "writer_speed"]
    for line in run(test, cwd=ROOT).splitlines():
        if line.endswith(("aim M/s", "PASS", "FAIL")):
            rows.append(("writer", "", line.rstrip(), ""))
    trail = os.path.join(work, "bench.trail")
    for home in args.jdk:
        floor = float(run([TARGET / "release" / "examples" / "floor"]))
        java = os.path.join(home, "bin", "java")
        for clock, most in MOST_NS.items():
            ns = float(run([java, agent(f"format=trail,file={trail},include=BenchTrail,clock={clock}"), "-cp", work, "BenchTrail", SECONDS]))
            found = run([TARGET / "release" / "jtrail", "verify", trail])
            events, lost = (int(n.replace(",", "")) for n in re.search(r"([\d,]+) events, events lost: ([\d,]+)", found).groups())
            size = os.path.getsize(trail) / events
            os.remove(trail)
            verdict = "PASS" if ns <= most and lost == 0 and size <= MOST_BYTES else "FAIL"
            rows.append((f"fib(32) for {SECONDS} s to a trail, clock={clock}, JDK {version(home)}", f"<= {most} ns, {MOST_BYTES} B/event, none lost",
                         f"{ns:.2f} ns, {size:.2f} B/event, {lost} of {events / 1e6:.0f} M lost", f"{ns / floor:.3f} x floor  {verdict}"))
