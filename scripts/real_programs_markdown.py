"""Writes figures of scripts/real-programs and scripts/stress into a page, each table between two marks of its own."""

import os
import platform
import sys


def marks(what, script):
    return f"<!-- {what}: written by scripts/{script} -->", f"<!-- end of the {what} -->"


FIGURES = marks("figures", "real-programs")
ALL_EVENTS = marks("figures of all events", "real-programs")
STRESS = marks("figures of stress", "stress")
COLUMNS = [("Program", "program"), ("JDK", "jdk"), ("Include", "include"), ("Classes", "classes"),
           ("Methods", "methods"), ("Not instrumented", None), ("Calls", "enters"), ("Events", "events"),
           ("Repaired", "repaired"), ("Lost", "lost"), ("Plain, s", "plain"), ("Traced, s", "traced"),
           ("Verdict", None)]
# With events=all there is more in the trace than calls.
ALL_EVENTS_COLUMNS = [("Program", "program"), ("JDK", "jdk"), ("Calls", "enters"), ("Events", "events"),
                      ("Trace, MB", "megabytes"), ("Lost", "lost"), ("Not instrumented", None), ("Verdict", None)]
TEXTS = ("Program", "Include", "Collector", "Snapshots", "Verdict")


def include(text):
    return " ".join(f"`{pattern}`" for pattern in text.split("+"))


def number(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


def verdict(wrong, good):
    return "; ".join(wrong).replace("|", "\\|").replace("\n", " ") or good


def uninstrumented(row, numbers):
    counts = [f"{number(count)}&nbsp;({numbers[reason]})" for reason, count in row["reasons"].most_common()]
    return " ".join(counts) or number(row.get("uninstrumented", "-"))


def head(names):
    """The first two lines of a table with these columns."""
    return ["|" + "|".join(f" {name} " for name in names) + "|",
            "|" + "".join("---|" if name in TEXTS else "---:|" for name in names)]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def figures(rows, jdks, columns):
    """The machine, the table and what its remarks mean, as lines."""
    totals = sum((row["reasons"] for row in rows), start=type(rows[0]["reasons"])())
    numbers = {reason: i + 1 for i, (reason, _) in enumerate(totals.most_common())}
    versions = ", ".join(dict.fromkeys(jdk.version for jdk in jdks))
    lines = [f"Machine: {os.cpu_count()} cores, {platform.system()} {platform.machine()}; JDK {versions}.", ""]
    lines += head([name for name, _ in columns])
    for row in rows:
        cells = []
        for name, key in columns:
            if name == "Include":
                cells.append(include(row["include"]))
            elif name == "Not instrumented":
                cells.append(uninstrumented(row, numbers))
            elif name == "Verdict":
                cells.append(verdict(row["wrong"], "the same"))
            else:
                cells.append(number(row.get(key, "-")))
        lines.append(line(cells))
    if numbers:
        lines += ["", "Not instrumented, because:", ""]
        lines += [f"{i}. {reason}" for reason, i in numbers.items()]
    return lines


def parts(path, place):
    """The page before the marks, between them, and behind."""
    page = path.read_text(encoding="utf-8")
    before, mark, rest = page.partition(place[0])
    text, end, after = rest.partition(place[1])
    if not mark or not end:
        sys.exit(f"{path} has no place for the figures: {place[0]} … {place[1]}")
    return before, text, after


def put(path, place, lines):
    """Puts lines between two marks of a page, in place of the old ones."""
    before, _, after = parts(path, place)
    text = "\n".join(lines)
    path.write_text(f"{before}{place[0]}\n\n{text}\n\n{place[1]}{after}", encoding="utf-8")


def write(path, rows, jdks):
    """Puts the figures into the page."""
    put(path, FIGURES, figures(rows, jdks, COLUMNS))


def write_all_events(path, rows, jdks):
    """Puts the figures of runs with all kinds of events into the page."""
    put(path, ALL_EVENTS, figures(rows, jdks, ALL_EVENTS_COLUMNS))


def merge(path, place, names, rows):
    """Puts rows into a table of a page, in place of those that begin with the same two cells; others stay."""
    def key(cells):
        return [int(cells[0]), *cells[1:2]]

    old = [[cell.strip() for cell in text.strip("|").split(" | ")]
           for text in parts(path, place)[1].splitlines() if text.startswith("| ")][1:]
    fresh = [key(row) for row in rows]
    old = [cells for cells in old if key(cells) not in fresh]
    put(path, place, head(names) + [line(cells) for cells in sorted(old + rows, key=key)])
