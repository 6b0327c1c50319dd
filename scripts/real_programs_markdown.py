"""Writes the figures of scripts/real-programs into a page, between two marks."""

import os
import platform
import sys

BEGIN, END = "<!-- figures: written by scripts/real-programs -->", "<!-- end of the figures -->"
COLUMNS = [("Program", "program"), ("JDK", "jdk"), ("Include", "include"), ("Classes", "classes"),
           ("Methods", "methods"), ("Not covered", None), ("Calls", "enters"), ("Events", "events"),
           ("Repaired", "repaired"), ("Lost", "lost"), ("Plain, s", "plain"), ("Traced, s", "traced"),
           ("Verdict", None)]


def include(text):
    return " ".join(f"`{pattern}`" for pattern in text.split("+"))


def number(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


def uncovered(row, numbers):
    counts = [f"{number(count)}&nbsp;({numbers[reason]})" for reason, count in row["reasons"].most_common()]
    return " ".join(counts) or number(row.get("uncovered", "-"))


def figures(rows, jdks):
    """The machine, the table and what its remarks mean, as lines."""
    totals = sum((row["reasons"] for row in rows), start=type(rows[0]["reasons"])())
    numbers = {reason: i + 1 for i, (reason, _) in enumerate(totals.most_common())}
    versions = ", ".join(dict.fromkeys(jdk.version for jdk in jdks))
    lines = [f"Machine: {os.cpu_count()} cores, {platform.system()} {platform.machine()}; JDK {versions}.", "",
             "|" + "|".join(f" {name} " for name, _ in COLUMNS) + "|",
             "|---|" + "---:|" + "---|" + "---:|" * (len(COLUMNS) - 4) + "---|"]
    for row in rows:
        cells = []
        for name, key in COLUMNS:
            if name == "Include":
                cells.append(include(row["include"]))
            elif name == "Not covered":
                cells.append(uncovered(row, numbers))
            elif name == "Verdict":
                cells.append("; ".join(row["wrong"]).replace("|", "\\|") or "the same")
            else:
                cells.append(number(row.get(key, "-")))
        lines.append("| " + " | ".join(cells) + " |")
    if numbers:
        lines += ["", "Not covered, because:", ""]
        lines += [f"{i}. {reason}" for reason, i in numbers.items()]
    return lines


def write(path, rows, jdks):
    """Puts the figures into the page in place of the old ones."""
    page = path.read_text(encoding="utf-8")
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        sys.exit(f"real-programs: {path} has no place for the figures: {BEGIN} … {END}")
    text = "\n".join(figures(rows, jdks))
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
