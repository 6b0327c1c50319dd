#!/usr/bin/env python3
"""Checks an export of the target `speedscope`: opens it in speedscope's own page, has the page save what it
has read, and compares that with `jtrail report`. The page drops calls that took no time; their number comes from the
export itself.

Compared are calls, total and self time by thread and method, and the number and time of waits and collections. The
exit code is 1 if a figure differs.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import page
from report import Comparison, Report


def sums_by_name(file, methods):
    """Sums over the profiles of a file, by their names: those of threads with one name, in their order."""
    names = {name for of_thread in methods.values() for name in of_thread}
    frames = file["shared"]["frames"]
    found = defaultdict(list)
    for profile in file["profiles"]:
        found[profile["name"]].append(page.sums(profile, frames, names.__contains__, 1))
    return found


def compare_methods(comparison, report, methods, found, of_file):
    """Compares the methods of each thread. Threads with one name are told apart by their time in calls, by which
    the profiles are sorted."""
    threads = sorted(report.tables["threads"], key=lambda row: -row["busy_ns"])
    for row in threads:
        if row["calls"]:
            name = report.threads[row["thread"]]
            if not found[name]:
                comparison.equal("profile", name, None)
                continue
            sums, exact = found[name].pop(0), of_file[name].pop(0)
            comparison.methods(name, methods[row["thread"]], sums.calls, exact.empty)
            yield from sums.others
    for name, rest in found.items():
        for sums in rest:
            comparison.equal(f"calls of {name}, which has none", {}, sums.calls)
            yield from sums.others


def compare_others(comparison, report, others):
    """Compares waits and collections."""
    sums = defaultdict(lambda: (0, 0))
    for name, begin, end in others:
        kind = name.partition(" (")[0]
        kind = "collection" if kind.endswith("collection") else kind
        count, ns = sums[kind]
        sums[kind] = (count + 1, ns + end - begin)
    trace = report.trace
    expected = {
        "blocked on a monitor": (trace.get("blocked") or 0, trace.get("blocked_ns") or 0),
        "Object.wait": tuple(sum(row[key] for row in report.rows("waits")) for key in ("waits", "total_ns")),
        "parked": tuple(sum(row[key] for row in report.rows("parks")) for key in ("parks", "total_ns")),
        "collection": (trace.get("collections") or 0, trace.get("collections_ns") or 0),
    }
    for kind, figures in expected.items():
        comparison.equal(f"{kind} (number, ns)", figures, sums.pop(kind, (0, 0)))
    comparison.equal("other slices", {}, dict(sums))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("export")
    parser.add_argument("--jtrail", default="jtrail", metavar="PROGRAM", help="the command line")
    page.add_options(parser, required=True)
    options = parser.parse_args()
    report = Report(options.jtrail, options.trace)
    methods = report.methods()
    saved = page.open_export(options)
    comparison = Comparison()
    found = sums_by_name(saved, methods)
    of_file = sums_by_name(json.loads(Path(options.export).read_text()), methods)
    others = list(compare_methods(comparison, report, methods, found, of_file))
    compare_others(comparison, report, others)
    return comparison.finish()


if __name__ == "__main__":
    sys.exit(main())
