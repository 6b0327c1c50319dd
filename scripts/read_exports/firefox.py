#!/usr/bin/env python3
"""Checks that an export for the Firefox Profiler says what `jtrail report` says of its trace.

The reader is Mozilla's own: `profiler-cli` of the npm package `@firefox-devtools/profiler-cli`, which needs Node.js 24.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import Report, readable

SESSION = "jtrail"
# The tables of a report with waits and throws.
WAITS = ("monitor_classes", "waits", "parks", "exceptions")


class Profiler:
    """A profiler-cli that has loaded an export, and answers questions about it."""

    def __init__(self, node, cli, export, seconds):
        self.command = [node, "--max-old-space-size=12000", cli]
        self.seconds = seconds
        self.folder = tempfile.TemporaryDirectory()
        self.environment = os.environ | {"PROFILER_CLI_SESSION_DIR": self.folder.name}
        self.export, self.process = export, None

    def __enter__(self):
        # Some starts never answer, and the next one does.
        if not any(self.start() for _ in range(4)):
            log = Path(self.folder.name) / f"{SESSION}.log"
            said = log.read_text() if log.exists() else ""
            self.folder.cleanup()
            raise SystemExit(f"profiler-cli did not start: {said}")
        return self

    def start(self):
        """Starts the background process. Returns true if it answers."""
        # The command `load` gives its background process half a second to start, which can be too
        # short. So this is what it starts.
        command = [*self.command, "--daemon", self.export, "--session", SESSION]
        self.process = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + self.seconds / 4
        while self.process.poll() is None and time.monotonic() < deadline:
            if self.run("status").returncode == 0:
                return True
            time.sleep(0.2)
        self.process.kill()
        self.process.wait()
        return False

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def run(self, *words):
        """Runs a command."""
        return subprocess.run([*self.command, *words, "--session", SESSION], capture_output=True, text=True,
                              env=self.environment, timeout=self.seconds)

    def ask(self, *words):
        """Returns the answer to a command."""
        done = self.run(*words, "--json")
        if done.returncode != 0:
            raise SystemExit(f"profiler-cli {' '.join(words)}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)


def profiled_name(method):
    """Returns the name of a method in the export, from `package.Class.method(descriptor)result`."""
    name, paren, types = readable(method).partition("(")
    owner, _, simple = name.rpartition(".")
    package, _, plain = owner.rpartition(".")
    return (f"{package}!" if package else "") + f"{plain}.{simple}{paren}{types}"


def nanoseconds(milliseconds):
    return round(milliseconds * 1_000_000)


def times_by_method(rows):
    """Returns the self and total times by method. Methods of one name are not told apart. A method that took no time
    is not in a profile."""
    times = collections.defaultdict(list)
    for name, own, total in rows:
        if total:
            times[name].append((own, total))
    return {name: sorted(pairs) for name, pairs in times.items()}


def reported_times(tables):
    return times_by_method((profiled_name(row["method"]), row["self_ns"], row["total_ns"]) for row in tables["methods"])


def profiled_times(profiler, handle):
    """Returns the times of a thread's functions. Those without parameters are no methods."""
    functions = profiler.ask("thread", "functions", "--thread", handle, "--limit", "0")["functions"]
    methods = [row for row in functions if "(" in row["name"]]
    return times_by_method(
        (row["nameWithLibrary"], nanoseconds(row["selfSamples"]), nanoseconds(row["totalSamples"])) for row in methods)


def reported_waits(tables):
    """Returns the number of waits of each kind and their time, and the number of throws."""
    def sums(rows, count):
        return sum(row[count] for row in rows), sum(row["total_ns"] for row in rows)
    return {"blocked": sums(tables["monitor_classes"], "waits"), "waiting": sums(tables["waits"], "waits"),
            "parked": sums(tables["parks"], "parks"), "throw": (sum(row["thrown"] for row in tables["exceptions"]), 0)}


def profiled_waits(profiler, handle):
    """Returns the number of markers of each type and their time."""
    sums = {kind: (0, 0) for kind in ("blocked", "waiting", "parked", "throw")}
    markers = profiler.ask("thread", "markers", "--thread", handle, "--list", "--limit", "0")
    for marker in markers["flatMarkers"]:
        kind = marker["markerType"]
        if kind in sums:
            count, time = sums[kind]
            sums[kind] = (count + 1, time + nanoseconds(marker.get("duration") or 0))
    return sums


def profiled_collections(profiler):
    """Returns the pauses of collections in ns, from the thread of the process."""
    markers = profiler.ask("thread", "markers", "--thread", "t-0", "--list", "--limit", "0")["flatMarkers"]
    return sorted(nanoseconds(marker["duration"]) for marker in markers if marker["markerType"] == "collection")


def profiled_allocations(profiler):
    """Returns the bytes that the counter of allocations adds up to."""
    counters = [row for row in profiler.ask("counter", "list")["counters"] if row["name"].startswith("Allocation")]
    return sum(stat["value"] for row in counters for stat in row["stats"] if stat["source"] == "count-range")


def differences(what, expected, found):
    """Yields a line for each key whose values differ."""
    for key in sorted(expected.keys() | found.keys()):
        if expected.get(key) != found.get(key):
            yield f"{what}: {key}: reported {expected.get(key)}, profiled {found.get(key)}"


def compare(report, profiler):
    """Yields a line for each difference."""
    threads = {row["tid"]: row for row in profiler.ask("thread", "list")["threads"][1:]}
    whole = report.only("threads", "gc", "allocation_threads", *WAITS)
    compared = collections.Counter()
    for thread in whole["threads"]:
        number = thread["thread"]
        if number not in threads and not thread["calls"]:
            continue  # it may be one of thousands; its waits are in the sums of all
        tables = report.only("methods", *WAITS, thread=number)
        times, waits = reported_times(tables), reported_waits(tables)
        compared.update({kind: count for kind, (count, _) in waits.items()})
        if number not in threads:
            yield f"thread {number} is not in the profile"
            continue
        row = threads.pop(number)
        if thread["name"] and thread["name"] != row["name"]:
            yield f"thread {number}: reported {thread['name']}, profiled {row['name']}"
        yield from differences(row["name"], times, profiled_times(profiler, row["threadHandle"]))
        yield from differences(row["name"], waits, profiled_waits(profiler, row["threadHandle"]))
        print(f"{row['name']}: {len(times)} methods, {sum(count for count, _ in waits.values())} waits and throws")
    for row in threads.values():
        yield f"thread {row['tid']} ({row['name']}) is not in the report"
    waits = {kind: count for kind, (count, _) in reported_waits(whole).items()}
    yield from differences("all threads", waits, dict(compared))
    pauses = sorted(row["pause_ns"] for row in whole["gc"])
    found = profiled_collections(profiler)
    if pauses != found:
        yield f"collections: reported {pauses}, profiled {found}"
    allocated = sum(row["bytes"] for row in whole["allocation_threads"])
    if allocated != profiled_allocations(profiler):
        yield f"allocated bytes: reported {allocated}, profiled {profiled_allocations(profiler)}"
    print(f"{len(pauses)} collections, {allocated} bytes allocated")


def main():
    """Compares a trace and its export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jtrail", required=True, help="the command line")
    parser.add_argument("--node", default="node", help="Node.js 24 or later")
    parser.add_argument("--cli", required=True, help="profiler-cli.js of the npm package")
    parser.add_argument("--seconds", type=int, default=120, help="the longest time for one answer")
    parser.add_argument("trace")
    parser.add_argument("export")
    options = parser.parse_args()
    with Profiler(options.node, options.cli, options.export, options.seconds) as profiler:
        found = list(compare(Report(options.jtrail, options.trace), profiler))
    for line in found[:20]:
        print(line)
    sys.exit(f"{len(found)} differences" if found else 0)


main()
