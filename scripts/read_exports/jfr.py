#!/usr/bin/env python3
"""Compares what other tools read in exported recordings with the report of their traces.

Each trace is followed by its export:

    jfr.py --jtrail PROGRAM --jdk HOME [--jdk HOME …] [--libraries FOLDER] TRACE EXPORT [TRACE EXPORT …]

The readers are those of each JDK (17 or later). With a folder that has the jars of JDK Mission Control
(`org.openjdk.jmc:flightrecorder.rules.jdk:9.1.1` and what it needs) and `tools.profiler:jfr-converter:4.2`,
these are readers, too.
"""

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from report import PRIMITIVES, Report

JAVA = Path(__file__).resolve().parent / "java"
PERIOD = 1_000_000
CONVERTER = "jfr-converter-*.jar"

problems = []


def expect(what, found, expected):
    """Notes a difference."""
    if found != expected:
        problems.append(what)
        print(f"{what}: {found} instead of {expected}")


def expect_rows(what, found, expected):
    """Notes the differences between two tables, which are dicts."""
    for key in sorted({*found, *expected}, key=str):
        expect(f"{what}: {key}", found.get(key), expected.get(key))
    print(f"  {what}: {len(found)} rows, {[sum(column) for column in zip(*found.values())]}")


def run(*command):
    """What a program prints."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}")
    return done.stdout


def sums(lines):
    """The numbers of lines `subject, key, number …` by subject and key."""
    tables = collections.defaultdict(dict)
    for line in lines.splitlines():
        subject, key, *numbers = line.split("\t")
        tables[subject][key] = tuple(map(int, numbers))
    return tables


def hotspot_name(name):
    """The name of a hidden class, or of a method of one, as HotSpot has it."""
    return name.replace("/0x", "+0x")


def readable(class_name):
    """The name of a class as in source code."""
    element = class_name.lstrip("[")
    if element != class_name:
        element = PRIMITIVES.get(element) or element[1:-1]
    return element + "[]" * class_name.count("[")


class HotSpotReport(Report):
    """What `jtrail report` says, with the names of HotSpot."""

    TABLES = ("trace", "threads", "methods", "monitor_sites", "waits", "parks", "exceptions", "allocations",
              "allocation_threads", "samples", "gc")

    def table(self, name, key, *columns):
        """Columns of a table by a key column. Rows with one key are added up."""
        rows = collections.defaultdict(lambda: (0,) * len(columns))
        for row in self.rows(name):
            numbers = tuple(row[column] or 0 for column in columns)
            rows[hotspot_name(str(row[key]))] = tuple(map(sum, zip(rows[hotspot_name(str(row[key]))], numbers)))
        return {key: numbers for key, numbers in rows.items() if any(numbers)}

    def total(self, name, *columns):
        """The sums of columns of a table."""
        return tuple(map(sum, zip((0,) * len(columns), *self.table(name, columns[0], *columns).values())))


def check_calls(report, read):
    """Calls, and total and self times, by method and by thread."""
    expect_rows("methods", read["jdk.MethodTrace"], report.table("methods", "method", "calls", "total_ns", "self_ns"))
    expect_rows("threads", read["calling threads"], report.table("threads", "thread", "calls"))
    expect_rows("busy threads", read["busy threads"], report.table("threads", "thread", "busy_ns"))


def check_waits(report, read):
    """Waits, throws and collections."""
    expect_rows("blocked", read["jdk.JavaMonitorEnter"], report.table("monitor_sites", "site", "waits", "total_ns"))
    for event, table, count in [("jdk.JavaMonitorWait", "waits", "waits"), ("jdk.ThreadPark", "parks", "parks")]:
        expect(event, tuple(map(sum, zip((0, 0), *read[event].values()))), report.total(table, count, "total_ns"))
    expect_rows("throws", read["jdk.JavaExceptionThrow"], report.table("exceptions", "class", "thrown"))
    expect_rows("sites of throws", read["sites of throws"], report.table("exceptions", "site", "thrown"))
    found = tuple(map(sum, zip((0, 0), *read["jdk.GarbageCollection"].values())))
    expect("collections", found, (report.trace["collections"], report.trace["collections_ns"]))
    found = read["jdk.GCHeapSummary"].get("After GC", (0,))
    expect("used after collections", found, report.total("gc", "used_bytes"))


def check_allocations(report, read):
    """Allocations by class and by thread."""
    found = read["jdk.ObjectAllocationSample"]
    expect_rows("allocations", found, report.table("allocations", "class", "objects", "bytes"))
    by_thread = report.table("allocation_threads", "thread", "objects", "bytes")
    expect_rows("allocating threads", read["allocating threads"], by_thread)
    found = read["jdk.ThreadAllocationStatistics"]
    expect_rows("bytes of threads", found, {thread: numbers[1:] for thread, numbers in by_thread.items()})


def check_samples(report, read):
    """Samples, or samples made from calls: these are as many as fits self times, within chance."""
    if report.rows("samples"):
        found = collections.Counter()
        for event in ["jdk.ExecutionSample", "jdk.NativeMethodSample"]:
            found.update({method: count for method, (count,) in read[event].items()})
        found = {method: (count,) for method, count in found.items()}
        expect_rows("samples", found, report.table("samples", "method", "runnable_self"))
        return
    found = read["jdk.ExecutionSample"]
    for method, (self_ns,) in report.table("methods", "method", "self_ns").items():
        expected, (count,) = self_ns / PERIOD, found.get(method, (0,))
        if abs(count - expected) > 6 * expected ** 0.5 + 6:
            expect(f"samples of {method}", count, expected)
    for thread, (busy_ns,) in report.table("threads", "thread", "busy_ns").items():
        waits = report.total("waits", "total_ns")[0] + report.total("parks", "total_ns")[0]
        waits += report.total("monitor_sites", "total_ns")[0]
        if not waits:
            (count,) = read["sampled threads"].get(thread, (0,))
            calls_outside = 100  # each begins and ends between two samples
            expect(f"samples of thread {thread}", abs(count * PERIOD - busy_ns) <= calls_outside * PERIOD, True)
    print(f"  samples made from calls: {sum(count for count, in found.values())}")


def check_jdk(home, report, export):
    """What a JDK reads. Returns the number of events by type, and the execution samples by method."""
    java, jfr = home / "bin" / "java", home / "bin" / "jfr"
    read = sums(run(java, JAVA / "ReadRecording.java", export))
    for check in [check_calls, check_waits, check_allocations, check_samples]:
        check(report, read)
    counts = {event: count for event, (count,) in read["events"].items()}
    for line in run(jfr, "summary", export).splitlines():
        words = line.split()
        if len(words) == 3 and words[0].partition(".")[0] in ["jdk", "jtrail"] \
                and words[0].lower() not in ["jdk.metadata", "jdk.checkpoint"]:
            expect(f"summary: {words[0]}", int(words[1]), counts.get(words[0], 0))
    return counts, read


def rows_of_view(jfr, view, export):
    """The rows of a view of `jfr`, each as its text."""
    lines = run(jfr, "view", "--width", "300", view, export).splitlines()
    ruler = [at for at, line in enumerate(lines) if line.startswith("---")]
    return [line for line in lines[ruler[0] + 1:] if line.strip()] if ruler else []


def check_views(jfr, counts, read, export):
    """Views of the command `jfr`, which JDK 21 and later have."""
    for view, event in [("contention-by-class", "jdk.JavaMonitorEnter"), ("exception-by-type", "jdk.JavaExceptionThrow"),
                        ("exception-by-site", "jdk.JavaExceptionThrow"), ("method-calls", "jdk.MethodTrace")]:
        # The first number of a row that stands alone is the count.
        found = [re.search(r"\s{2,}([\d,]+)(\s|$)", row) for row in rows_of_view(jfr, view, export)]
        found = sum(int(count[1].replace(",", "")) for count in found)
        expect(view, found, counts.get(event, 0))
    expect("gc", len(rows_of_view(jfr, "gc", export)), counts.get("jdk.GarbageCollection", 0))
    hot = rows_of_view(jfr, "hot-methods", export)
    most = max((count for count, in read["jdk.ExecutionSample"].values()), default=0)
    expect("hot-methods", int(hot[0].split()[-2].replace(",", "")) if hot else 0, most)
    for view in ["contention-by-site", "contention-by-thread", "gc-pauses", "native-methods", "allocation-by-class",
                 "allocation-by-site", "thread-allocation", "thread-start", "jvm-information", "active-recordings"]:
        run(jfr, "view", view, export)


def check_mission_control(java, libraries, counts, export):
    """JDK Mission Control reads all events, and no rule fails."""
    printed = run(java, "-Xmx6g", "-cp", libraries / "*", JAVA / "RunRules.java", export)
    lines = [line.split("\t") for line in printed.splitlines()]
    found = collections.Counter()
    for kind, name, count in lines:
        if kind == "events" and count != "0":
            found[name] += int(count)
    expect("events in JDK Mission Control", dict(found), counts)
    rules = collections.Counter(severity for kind, _, severity in lines if kind == "rule")
    expect("there are rules", len(rules) > 0, True)
    print(f"  JDK Mission Control: {sum(found.values())} events, rules {dict(rules)}")


def collapsed(java, libraries, export, *options):
    """The values that async-profiler's converter computes, by the innermost frame."""
    values = collections.Counter()
    (converter,) = libraries.glob(CONVERTER)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.collapsed"
        run(java, "-jar", converter, *options, "--dot", "-o", "collapsed", export, out)
        for line in out.read_text().splitlines():
            path, value = line.rsplit(" ", 1)
            values[re.sub(r"_\[\w\]$", "", path.rpartition(";")[2])] += int(value)
    return dict(values)


def check_converter(java, libraries, report, read, export):
    """Bytes by class, times of waits, and samples by method in async-profiler's converter."""
    expected = collections.Counter()
    for name, (size,) in report.table("allocations", "class", "bytes").items():
        expected[readable(name)] += size
    found = collapsed(java, libraries, export, "--alloc", "--total")
    for name, (size,) in read["allocations without a stack"].items():
        expected[readable(name)] -= size  # The converter drops them.
    expect("converted allocations", found, {name: size for name, size in expected.items() if size})
    found = sum(collapsed(java, libraries, export, "--lock", "--total").values())
    waits = report.total("monitor_sites", "total_ns")[0] + report.total("parks", "total_ns")[0]
    expect("converted waits in ns", found, waits)
    samples = collections.Counter()
    for method, (count,) in read["jdk.ExecutionSample"].items():
        samples[method.partition("(")[0]] += count
    found = collapsed(java, libraries, export, "--state", "runnable")
    for method, count in samples.items():
        expect(f"converted samples of {method}", found.get(method, 0) >= count, True)
    total = sum(samples.values()) + sum(count for count, in read["jdk.NativeMethodSample"].values())
    expect("converted samples", sum(found.values()), total)
    print(f"  converter: {sum(found.values())} samples, {waits} ns of waits")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jtrail", type=Path, required=True)
    parser.add_argument("--jdk", type=Path, action="append", required=True)
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("files", nargs="+", type=Path, metavar="TRACE EXPORT")
    options = parser.parse_args()
    for trace, export in zip(options.files[::2], options.files[1::2]):
        report = HotSpotReport(options.jtrail, trace)
        for home in options.jdk:
            print(f"{export.name}, {home.name}")
            counts, read = check_jdk(home, report, export)
            if "view" in run(home / "bin" / "jfr", "help"):
                check_views(home / "bin" / "jfr", counts, read, export)
        if options.libraries:
            java = options.jdk[0] / "bin" / "java"
            check_mission_control(java, options.libraries, counts, export)
            check_converter(java, options.libraries, report, read, export)
    sys.exit(f"{len(problems)} differences" if problems else None)


if __name__ == "__main__":
    main()
