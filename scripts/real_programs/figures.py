"""The figures of all runs: as a table on standard output, and in a page of the documentation."""

import os
import platform

from support import pages
from support.tables import aligned

FIGURES = pages.marks("figures", "real-programs")
ALL_EVENTS = pages.marks("figures of all events", "real-programs")
COLUMNS = [("Program", "program"), ("JDK", "jdk"), ("Include", "include"), ("Classes", "classes"),
           ("Methods", "methods"), ("Not instrumented", None), ("Calls", "enters"), ("Events", "events"),
           ("Repaired", "repaired"), ("Lost", "lost"), ("Plain, s", "plain"), ("Traced, s", "traced"),
           ("Verdict", None)]
# With events=all there is more in the trace than calls.
ALL_EVENTS_COLUMNS = [("Program", "program"), ("JDK", "jdk"), ("Calls", "enters"), ("Events", "events"),
                      ("Trace, MB", "megabytes"), ("Lost", "lost"), ("Not instrumented", None), ("Verdict", None)]


def show(rows, plain):
    """Prints a table of the runs, and below it what is wrong and why methods are not instrumented."""
    columns = ["program", "jdk", "include", "plain"]
    columns += ["noise"] if plain else ["format", "traced", "classes", "methods", "uninstrumented", "enters", "events",
                                        "repaired", "open", "lost", "bytes"]
    table = [[*columns, "verdict"]]
    table += [[str(row.get(column, "-")) for column in columns] + ["DIFFERS" if row["wrong"] else "ok"] for row in rows]
    print("", *aligned(table), sep="\n")
    for row in rows:
        title = f"{row['program']} on Java {row['jdk']}, include={row['include']}"
        for text in row["wrong"]:
            print(f"{title}: {text}")
        for reason, count in row["reasons"].most_common():
            print(f"{title}: {count} not instrumented: {reason}")


def write(page, rows, jdks):
    """Puts the figures into the page."""
    pages.put(page, FIGURES, lines(rows, jdks, COLUMNS))


def write_all_events(page, rows, jdks):
    """Puts the figures of runs with all kinds of events into the page."""
    pages.put(page, ALL_EVENTS, lines(rows, jdks, ALL_EVENTS_COLUMNS))


def lines(rows, jdks, columns):
    """The machine, the table, and the reasons that the table refers to by number."""
    totals = sum((row["reasons"] for row in rows), start=type(rows[0]["reasons"])())
    numbers = {reason: i + 1 for i, (reason, _) in enumerate(totals.most_common())}
    versions = ", ".join(dict.fromkeys(jdk.version for jdk in jdks))
    found = [f"Machine: {os.cpu_count()} cores, {platform.system()} {platform.machine()}; JDK {versions}.", ""]
    found += pages.head([name for name, _ in columns])
    found += [pages.line([cell(row, name, key, numbers) for name, key in columns]) for row in rows]
    if numbers:
        found += ["", "Not instrumented, because:", ""]
        found += [f"{i}. {reason}" for reason, i in numbers.items()]
    return found


def cell(row, name, key, numbers):
    """The text of a run in a column."""
    if name == "Include":
        return " ".join(f"`{pattern}`" for pattern in row["include"].split("+"))
    if name == "Not instrumented":
        return uninstrumented(row, numbers)
    if name == "Verdict":
        return pages.verdict(row["wrong"], "the same")
    return number(row.get(key, "-"))


def uninstrumented(row, numbers):
    """How many methods are not instrumented, each count with the number of its reason."""
    counts = [f"{number(count)}&nbsp;({numbers[reason]})" for reason, count in row["reasons"].most_common()]
    return " ".join(counts) or number(row.get("uninstrumented", "-"))


def number(value):
    return f"{value:,}" if isinstance(value, int) else str(value)
