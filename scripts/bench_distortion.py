"""What recording does to the shares of time that a program's parts seem to take.

A program calls eight methods, which spin for 5 ns to 5 ms, each in a loop of its own, so often that all loops take about the same time. Truth
is what each loop takes in the bare program, by its own clock. Compared with it are the shares of the loops in traces with both clocks, and in a
recording of the JVM's own sampler (JFR, every 10 ms), where that is there. A share is off by the difference in points of per cent of all loops
together.
"""

import json
import os
import re
import statistics

from bench_lib import TARGET, agent, run, version

# Name, ns, and calls in a round.
SPINS = (("ns5", 5, 1_000_000), ("ns20", 20, 250_000), ("ns100", 100, 50_000), ("us1", 1_000, 5_000),
         ("us10", 10_000, 500), ("us100", 100_000, 50), ("ms1", 1_000_000, 5), ("ms5", 5_000_000, 1))
# So that the sampler, which looks every 10 ms, has enough to go by.
ROUNDS = 100


def program():
    methods, loops, calls = [], [], []
    for name, ns, count in SPINS:
        methods.append(f"""
    static void {name}() {{
        long x = sink;
        for (int i = 0; i < PER_{name}; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }}
    static final int PER_{name} = Math.max(1, (int) ({ns} * Double.parseDouble(System.getProperty("turns", "1"))));
    static void loop_{name}() {{ for (int i = 0; i < {count}; i++) {name}(); }}""")
        calls.append(f'        began = System.nanoTime(); loop_{name}(); if (counts) took[{len(calls)}] += System.nanoTime() - began;')
    names = ", ".join(f'"{name}"' for name, _, _ in SPINS)
    return f"""
public class BenchSpins {{
    static long sink = 1;
    static final String[] NAMES = {{{names}}};
    static final long[] took = new long[NAMES.length];
{''.join(methods)}
    static void round(boolean counts) {{
        long began;
{chr(10).join(calls)}
    }}
    /** How many turns of such a loop take a nanosecond. */
    static void calibrate() {{
        double best = 0;
        for (int k = 0; k < 20; k++) {{
            long began = System.nanoTime();
            long x = sink;
            for (int i = 0; i < 10_000_000; i++) x = x * 6364136223846793005L + 1442695040888963407L;
            sink = x;
            best = Math.max(best, 1e7 / (System.nanoTime() - began));
        }}
        System.out.println(best);
    }}
    public static void main(String[] args) {{
        if (args.length == 0) {{ calibrate(); return; }}
        int rounds = Integer.parseInt(args[0]);
        for (int i = 0; i < 5; i++) round(false);
        for (int i = 0; i < rounds; i++) round(true);
        for (int i = 0; i < NAMES.length; i++) System.out.println(NAMES[i] + " " + took[i]);
    }}
}}
"""


def shares(times):
    whole = sum(times.values())
    return {name: 100 * time / whole for name, time in times.items()}


def told(output):
    return {name: int(time) for name, time in (line.split() for line in output.splitlines() if " " in line)}


def of_trace(path):
    """Time in each loop, by the trace."""
    report = json.loads(run([TARGET / "release" / "jtrail", "report", path, "--only", "methods", "--format", "json", "--top", "0"]))
    times = {}
    for method in report["methods"]:
        found = re.search(r"\.loop_(\w+)\(", method["method"])
        if found:
            times[found.group(1)] = method["total_ns"]
    return times


def of_jfr(home, path):
    """Samples in each loop."""
    text = run([os.path.join(home, "bin", "jfr"), "print", "--events", "jdk.ExecutionSample", "--stack-depth", "8", path])
    times = {name: 0 for name, _, _ in SPINS}
    for sample in text.split("jdk.ExecutionSample")[1:]:
        found = re.search(r"BenchSpins\.(?:loop_)?(ns5|ns20|ns100|us1|us10|us100|ms1|ms5)\(", sample)
        if found:
            times[found.group(1)] += 1
    return times


def measure(args, work, rows):
    for home in args.jdk:
        java = os.path.join(home, "bin", "java")
        turns = run([java, "-cp", work, "BenchSpins"]).strip()
        trail, recording = os.path.join(work, "spins.trail"), os.path.join(work, "spins.jfr")
        ways = [("bare", [])]
        ways += [(f"clock={clock}", [agent(f"format=trail,file={trail},include=BenchSpins,clock={clock}")]) for clock in ("exact", "tick")]
        if os.path.exists(os.path.join(home, "bin", "jfr")):
            settings = os.path.join(work, "spins.jfc")
            with open(settings, "w") as out:
                out.write('<configuration version="2.0"><event name="jdk.ExecutionSample"><setting name="enabled">true</setting>'
                          '<setting name="period">10 ms</setting></event></configuration>')
            ways.append(("JFR, every 10 ms", [f"-XX:StartFlightRecording=settings={settings},filename={recording}"]))
        found = {}
        for _ in range(max(1, args.rounds // 2)):
            for name, options in ways:
                output = run([java, *options, f"-Dturns={turns}", "-cp", work, "BenchSpins", str(ROUNDS)])
                if name == "bare":
                    times = told(output)
                elif name.startswith("clock"):
                    times = of_trace(trail)
                else:
                    times = of_jfr(home, recording)
                found.setdefault(name, []).append(shares(times))
        middle = {name: {spin: statistics.median(run[spin] for run in runs) for spin, _, _ in SPINS} for name, runs in found.items()}
        truth = middle["bare"]
        for name, share in middle.items():
            text = "  ".join(f"{spin} {share[spin]:.1f}" for spin, _, _ in SPINS)
            off = max(abs(share[spin] - truth[spin]) for spin, _, _ in SPINS)
            rows.append((f"shares of eight loops, JDK {version(home)}, {name}, in %", "", text, "" if name == "bare" else f"off by up to {off:.1f}"))
