#!/usr/bin/env python3
"""Compares what `go tool pprof` says of exported profiles with the report of their traces.

Each trace is followed by its export: pprof.py --jtrail PROGRAM TRACE EXPORT [TRACE EXPORT ...]
"""

import argparse
import collections
import re
import subprocess
import sys

from report import Comparison, Report

# A location of `-raw`: the name, the file with line and column, and the system name if it differs.
LOCATION = re.compile(r"\s+\d+: 0x0 M=1 (?P<name>.*) \S*:\d+:\d+ s=\d+(?:\((?P<system>.*)\))?$")
# A total or value of `-tags`, like `  1234ns (35.0%): main`.
TAG = re.compile(r"\s+(?P<value>-?\d+)\w* \(.*?\): (?P<tag>.*)$")


def pprof(export, *options):
    """The lines that `go tool pprof` prints."""
    command = ["go", "tool", "pprof", *options, export]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def names_of_methods(export):
    """The names of functions by the raw names of their methods."""
    names = {}
    for line in pprof(export, "-raw"):
        if location := LOCATION.match(line):
            names[location["system"] or location["name"]] = location["name"]
    return names


def figures(export, sample_type, unit, *options):
    """The flat and cumulative values by the names of functions."""
    lines = pprof(export, "-top", f"-unit={unit}", f"-sample_index={sample_type}",
                  "-nodecount=0", "-nodefraction=0", "-edgefraction=0", *options)
    start = next(at for at, line in enumerate(lines) if line.split()[:2] == ["flat", "flat%"])
    number = re.compile(r"-?\d+")
    rows = (line.split(maxsplit=5) for line in lines[start + 1:])
    return {name: tuple(int(number.match(value)[0]) for value in (flat, cum))
            for flat, _, _, cum, _, name in rows}


def tags(export, key, sample_type, unit):
    """The sums of a sample type by the values of a label."""
    lines = pprof(export, "-tags", f"-unit={unit}", f"-sample_index={sample_type}")
    start = next(at for at, line in enumerate(lines) if line.startswith(f" {key}: "))
    sums = {}
    for line in lines[start + 1:]:
        if not line.strip():
            break
        tag = TAG.match(line)
        sums[tag["tag"].removesuffix(unit)] = int(tag["value"])
    return sums


# The label of all virtual threads without a name.
NAMELESS = "virtual threads without a name"


class Check:
    """The comparisons of an export with the report of its trace."""

    def __init__(self, report, export):
        self.report, self.export = report, export
        self.comparison = Comparison()
        self.equal = self.comparison.equal
        self.nameless = set()
        self.names = names_of_methods(export)
        types = next(line for line in pprof(export, "-raw") if line.startswith("calls/count"))
        self.types = {word.split("/")[0] for word in types.split()}

    def name(self, method):
        """The name of a reported method in the export."""
        return self.names.get(method["method"], method["method"])

    def methods(self, thread=None):
        """Compares the figures of methods, of all threads or of one."""
        focus = [] if thread is None else [f"-tagfocus=thread_id={thread}"]
        methods = self.report.only("methods", thread=thread)["methods"]
        of_threads = "" if thread is None else f" of thread {thread}"
        columns = [("calls", "count", "calls", None), ("self", "ns", "self_ns", "total_ns"),
                   ("cpu", "ns", "cpu_self_ns", "cpu_total_ns")]
        for sample_type, unit, flat, cum in columns:
            if sample_type not in self.types:
                continue
            found = figures(self.export, sample_type, unit, *focus)
            for method in methods:
                name = self.name(method)
                self.equal(f"{flat} of {name}{of_threads}", method[flat] or 0, found.get(name, (0, 0))[0])
                if cum:
                    self.equal(f"{cum} of {name}{of_threads}", method[cum] or 0, found.get(name, (0, 0))[1])
            reported = {self.name(method) for method in methods}
            others = {name for name, values in found.items() if values[0]} - reported
            self.equal(f"functions of {sample_type}{of_threads} that are no methods", set(), others)

    def by_thread(self, sample_type, unit):
        """The values of a sample type by thread. Virtual threads without a name are one, which has no id."""
        if sample_type not in self.types:
            return {}
        found = tags(self.export, "thread_id", sample_type, unit)
        nameless = tags(self.export, "thread", sample_type, unit).get(NAMELESS)
        return found | ({NAMELESS: nameless} if nameless is not None else {})

    def sums(self, table, column, sample_type, unit):
        """Compares the values of threads."""
        found, expected = self.by_thread(sample_type, unit), collections.Counter()
        for row in self.report.only(table)[table]:
            thread = row["thread"]
            expected[NAMELESS if thread in self.nameless else str(thread)] += row[column] or 0
        for thread, value in expected.items():
            self.equal(f"{sample_type} of thread {thread}", value, found.get(thread, 0))

    def waits(self):
        """Compares the sums of waits."""
        tables = {"blocked": ["monitor_sites"], "waiting": ["waits", "parks"]}
        for sample_type, names in tables.items():
            answer = self.report.only(*names)
            expected = sum(row["total_ns"] for name in names for row in answer.get(name, []))
            found = self.by_thread(sample_type, "ns")
            self.equal(sample_type, expected, sum(found.values()))

    def run(self):
        """Makes all comparisons, and prints what came out. Returns the exit code."""
        self.methods()
        threads = self.report.only("threads")["threads"]
        self.nameless = {row["thread"] for row in threads if not row["name"] and row["group"] == "VirtualThreads"}
        for thread in [row["thread"] for row in threads if row["calls"] and row["thread"] not in self.nameless]:
            self.methods(thread)
        self.sums("threads", "busy_ns", "self", "ns")
        self.sums("allocation_threads", "objects", "alloc_objects", "count")
        self.sums("allocation_threads", "bytes", "alloc_space", "B")
        self.waits()
        return self.comparison.finish()


def main():
    """Compares all exports. Exits with 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jtrail", default="jtrail", help="the command line")
    parser.add_argument("files", nargs="+", help="traces, each followed by its export")
    options = parser.parse_args()
    if len(options.files) % 2:
        parser.error("each trace needs an export")
    differs = False
    for trace, export in zip(options.files[::2], options.files[1::2]):
        print(export)
        differs |= Check(Report(options.jtrail, trace), export).run()
    sys.exit(differs)


if __name__ == "__main__":
    main()
