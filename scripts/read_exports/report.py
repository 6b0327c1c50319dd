"""What `jtrail report` says of a trace, and the comparison with what another tool has read."""

import functools
import json
import re
import subprocess

PRIMITIVES = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "V": "void",
              "Z": "boolean"}


def readable(method):
    """A method as exports name it, `a.B.m(int, String[])`, from a report's `a.B.m(I[Ljava/lang/String;)V`."""
    name, paren, rest = method.partition("(")
    if not paren:
        return method
    types = re.findall(r"(\[*)(?:L([^;]*);|(.))", rest.rpartition(")")[0])
    return name + "(" + ", ".join((PRIMITIVES[plain] if plain else re.split("[/.]", of)[-1]) + "[]" * len(dimensions)
                                  for dimensions, of, plain in types) + ")"


class Report:
    """The figures of a trace."""

    TABLES = ("trace", "threads", "gc", "monitors", "waits", "parks", "exceptions", "catches", "samples")

    def __init__(self, jtrail, trace):
        self.command = [jtrail, "report", trace, "--format", "json", "--top", "0"]

    def only(self, *names, thread=None):
        """Tables by name, of one thread or of all."""
        options = ["--only", ",".join(names)] + (["--thread", str(thread)] if thread is not None else [])
        done = subprocess.run([*self.command, *options], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    @functools.cached_property
    def tables(self):
        """The tables TABLES, of all threads."""
        return self.only(*self.TABLES)

    @property
    def trace(self):
        """The figures of the whole trace."""
        return self.tables["trace"]

    @functools.cached_property
    def threads(self):
        """The names of threads by their ids."""
        return {row["thread"]: row["name"] or f"virtual thread {row['thread']}" for row in self.tables["threads"]}

    def rows(self, table):
        """The rows of a table; none if the report lacks it."""
        return self.tables.get(table) or []

    def methods(self):
        """For each thread's id, its methods by their names in exports: calls, and total and self time in ns."""
        busy = [row["thread"] for row in self.tables["threads"] if row["calls"]]
        return {thread: self.methods_of(thread) for thread in busy}

    def methods_of(self, thread):
        """The methods of a thread. The total is None for a name that several methods share: the report adds up
        their totals even if one calls the other."""
        found = {}
        for row in self.only("methods", thread=thread)["methods"]:
            name, figures = readable(row["method"]), (row["calls"], row["total_ns"], row["self_ns"])
            if name in found:
                calls, _, self_ns = found[name]
                figures = (calls + figures[0], None, self_ns + figures[2])
            found[name] = figures
        return found


class Sums:
    """Sums over the slices of a thread, from their begins and ends."""

    def __init__(self, is_call):
        self.is_call = is_call
        self.calls = {}
        """For each name of calls: their number, total time without recursive calls, and self time."""
        self.empty = {}
        """For each name of calls, the number of those that took no time."""
        self.others = []
        """The other slices: name, begin, end."""
        self.open = []
        self.depths = {}

    def begin(self, name, time):
        """Begins a slice."""
        self.open.append([name, time, 0])
        self.depths[name] = self.depths.get(name, 0) + 1

    def end(self, name, time):
        """Ends the innermost slice. A wait is part of the self time of its caller."""
        innermost, begin, callees = self.open.pop()
        assert name == innermost, f"{name} ends within {innermost}"
        self.depths[name] -= 1
        if not self.is_call(name):
            self.others.append((name, begin, time))
            self.add_callees(callees)
            return
        calls, total, own = self.calls.get(name, (0, 0, 0))
        self.empty[name] = self.empty.get(name, 0) + (time == begin)
        outermost = time - begin if self.depths[name] == 0 else 0
        self.calls[name] = (calls + 1, total + outermost, own + time - begin - callees)
        self.add_callees(time - begin)

    def add_callees(self, time):
        """Adds to the time that the innermost open slice spent in calls."""
        if self.open:
            self.open[-1][2] += time


class Comparison:
    """Differences between a report and what another tool has read."""

    def __init__(self):
        self.differences = []
        self.compared = 0

    def equal(self, what, expected, found):
        """Notes a difference, unless both values are the same."""
        self.compared += 1
        if expected != found:
            self.differences.append(f"{what}: the report says {expected}, the export {found}")

    def methods(self, thread, expected, found, unseen=None):
        """Compares the methods of a thread. The tool does not show the calls `unseen`, whose numbers are by name."""
        found = dict(found)
        for name, count in (unseen or {}).items():
            calls, *times = found.get(name, (0, 0, 0))
            if calls + count:
                found[name] = (calls + count, *times)
        for name in sorted(expected.keys() | found.keys()):
            of_report, of_export = expected.get(name), found.get(name)
            if of_report and of_export and of_report[1] is None:
                of_export = (of_export[0], None, of_export[2])
            self.equal(f"{thread}: {name} (calls, total, self)", of_report, of_export)

    def finish(self):
        """Prints what came out. Returns the exit code."""
        for difference in self.differences[:20]:
            print(difference)
        print(f"{self.compared} figures compared, {len(self.differences)} differ")
        return 1 if self.differences or not self.compared else 0
