"""Tables of works under tracers, as text and for a page."""

from bench.comparing.figures import calls_made, figures
from bench.comparing.others import TRACERS
from bench.comparing.works import WORKS
from support.tables import aligned

COLUMNS = (
    ("first", "First batch"), ("slowdown_first", "×"), ("later", "Later ones"), ("median", "Median"), ("slowdown", "×"),
    ("pair", "A call"), ("floors", "× floor"), ("bytes", "Bytes/event"), ("calls", "Calls"), ("lost", "Lost"), ("peak", "Peak"),
    ("report", "Report"),
)


def duration(ns):
    """A time in a unit that suits it."""
    for unit, length in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= length:
            return f"{ns / length:.3g} {unit}" if ns < 1000 * length else f"{ns / length:,.0f} {unit}"
    return f"{ns:.3g} ns"


def count(number):
    """A number of calls: a small one exactly, a large one in three digits."""
    if abs(number) < 100_000:
        return f"{number:,.0f}"
    for unit, length in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= length:
            return f"{number / length:.3g} {unit}"


def ratio(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


FORMATS = {"first": duration, "later": duration, "median": duration, "slowdown_first": ratio, "slowdown": ratio,
           "pair": lambda ns: f"{ns:,.1f} ns" if abs(ns) < 100 else f"{ns:,.0f} ns", "floors": ratio,
           "bytes": lambda value: f"{value:.2f}", "calls": count, "lost": count,
           "peak": lambda mb: f"{mb:,.0f} MB", "report": lambda seconds: f"{seconds:.1f} s"}


def cells(found):
    """A tracer's figures as texts, in the order of the columns."""
    texts = {name: FORMATS[name](found[name]) if name in found else "–" for name, _ in COLUMNS}
    if "is_late" in found:
        texts["report"] = f"> {found['report']:.0f} s"
    # A smaller difference can be one between two runs.
    if abs(found.get("share", 1) - 1) > 0.005:
        texts["calls"] += f" ({found['share']:.1%})"
    return list(texts.values())


def tables(runs, floor):
    """Yields a heading and its rows for each work and JDK that have runs. A row is a tracer's name,
    and its cells or why there are none."""
    for work in WORKS.values():
        for jdk in sorted({run["jdk"] for run in runs if run["work"] == work.name}):
            rows = []
            for name in TRACERS:
                found = figures(runs, work, jdk, name, floor)
                if found:
                    rows.append((name, found["failed"]) if "failed" in found else (name, cells(found)))
            made = calls_made(runs, work, jdk)
            calls = f", {count(made[1])} calls" if made else ""
            if rows:
                yield f"{work.title}, JDK {jdk} (a batch: {work.batch}{calls})", rows


def text(runs, floor):
    """The tables as lines."""
    lines = []
    for heading, rows in tables(runs, floor):
        names = max(len(name) for name, _ in rows)
        table = [["".ljust(names), *(title for _, title in COLUMNS)]]
        table += [[name, *found] for name, found in rows if isinstance(found, list)]
        head, *whole = aligned(table, right=range(1, len(table[0])))
        lines += ["", heading, head]
        whole = iter(whole)
        lines += [next(whole) if isinstance(found, list) else f"{name.ljust(names)}  {found}" for name, found in rows]
    return lines


def markdown(runs, floor, machine):
    """The tables as lines of a page."""
    facts = machine | {"JDK": ", ".join(text for _, text in sorted(machine["JDK"].items()))}
    lines = [f"{key if key == 'jtrail' else key[0].upper() + key[1:]}: {value}." for key, value in facts.items()]
    lines = [" ".join(lines + ([f"Floor: {floor:.1f} ns for two time stamps and two stores."] if floor else []))]
    for heading, rows in tables(runs, floor):
        lines += ["", f"### {heading}", "", "| |" + "|".join(f" {title} " for _, title in COLUMNS) + "|",
                  "|---|" + "---:|" * len(COLUMNS)]
        reasons = []
        for name, found in rows:
            if isinstance(found, list):
                lines.append(f"| {name} | " + " | ".join(found) + " |")
            else:
                reasons.append(f"- {name}: {found}")
        lines += ["", *reasons] if reasons else []
    return lines
