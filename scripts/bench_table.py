"""What scripts/bench makes of the runs of works under tracers: figures, a table of them, JSON.

A run is what bench_work.Run.make tells, with the names of work, JDK and tracer; one that failed has the reason as `failed`. Figures are of all runs of a
cell together: the least of first batches, the least of later batches and the median over runs of their medians.
"""

import json
import statistics

from bench_peers import BARE, TRACERS, TRUTH
from bench_work import WORKS

COUNT = "count"  # the tracer's name in runs that only count calls
COLUMNS = (
    ("first", "First batch"), ("slowdown_first", "×"), ("later", "Later ones"), ("median", "Median"), ("slowdown", "×"),
    ("pair", "A call"), ("floors", "× floor"), ("bytes", "Bytes/event"), ("calls", "Calls"), ("lost", "Lost"), ("peak", "Peak"),
    ("report", "Report"),
)
UNITS = {"first": "ns", "later": "ns", "median": "ns", "slowdown_first": "times bare", "slowdown": "times bare", "pair": "ns per call more than bare",
         "floors": "times the floor", "bytes": "bytes per enter or leave", "calls": "calls of a run", "share": "part of the calls of that run", "lost": "calls of that run",
         "peak": "MB", "report": "s",
         "is_late": "the report was ended at that time"}


def select(runs, work, jdk, tracer):
    return [run for run in runs if (run["work"], run["jdk"], run["tracer"]) == (work, jdk, tracer)]


def whole(runs):
    return [run for run in runs if "failed" not in run]


def batches(run):
    """The first one, and later ones; a run that is one batch has only those."""
    times = run["batches"]
    return (None, times) if WORKS[run["work"]].is_single else (times[0], times[1:])


def calls_made(runs, work, jdk):
    """How many calls there are in a first batch and in each later one, by the runs that tell; for a server, in an answer. Or nothing, if none does."""
    truth = [run for run in whole(select(runs, work.name, jdk, TRUTH.name)) if run.get("calls")]
    known = next((run for run in whole(runs) if run["work"] == work.name and run["jdk"] == jdk and run.get("made")), None)
    if known:
        each = known["made"] / len(known["batches"])
        return each, each
    if work.is_server:
        return (truth[0]["calls"] / truth[0]["answers"],) * 2 if truth else None
    first = next((run["calls"] for run in whole(select(runs, work.name, jdk, COUNT)) if run.get("calls")), None)
    if not truth or first is None or len(truth[0]["batches"]) < 2:
        return None
    return first, (truth[0]["calls"] - first) / (len(truth[0]["batches"]) - 1)


def figures(runs, work, jdk, tracer, floor):
    """The figures of a cell, by the names of COLUMNS, or under `failed` why there are none."""
    own, bare = select(runs, work.name, jdk, tracer), whole(select(runs, work.name, jdk, BARE.name))
    good = whole(own)
    if not good:
        return {"failed": own[-1]["failed"]} if own else None
    found = times(good)
    found["peak"] = max(run["peak_mb"] for run in good)
    made = calls_made(runs, work, jdk)
    if bare and tracer != BARE.name:
        plain = times(bare)
        if "first" in found and "first" in plain:
            found["slowdown_first"] = found["first"] / plain["first"]
        if "later" in found and "later" in plain:
            found["slowdown"] = found["later"] / plain["later"]
            # A program that keeps several processors busy pays on each.
            if made and not work.is_single:
                found["pair"] = (found["later"] - plain["later"]) * work.cores / made[1]
                found["floors"] = found["pair"] / floor if floor else None
    told = next((run for run in good if run.get("calls") is not None), None)
    if told:
        found["calls"] = told["calls"]
        # Of a few calls, the head of the file would be most of it.
        if told.get("bytes") is not None and told["calls"] >= 1000:
            found["bytes"] = told["bytes"] / told["calls"] / 2
        found["lost"] = calls_lost(told)
        if expected := calls_expected(told, work, made):
            found["share"] = told["calls"] / expected
        found["report"], found["is_late"] = told.get("report"), told.get("is_late")
    return {name: value for name, value in found.items() if value is not None}


def times(good):
    first = [first for first, _ in map(batches, good) if first is not None]
    later = [later for _, later in map(batches, good) if later]
    found = {"first": min(first)} if first else {}
    if later:
        found["later"] = min(map(min, later))
        found["median"] = statistics.median(map(statistics.median, later))
    return found


def calls_expected(run, work, made):
    """How many calls a run should have made; where runs differ a little, about so many."""
    if run.get("made"):
        return run["made"]
    # A server makes many at its start, and those are in what an answer has, so that they say
    # nothing about another run.
    if not made or work.is_server:
        return None
    return made[0] + made[1] * (len(run["batches"]) - 1)


def calls_lost(run):
    """How many calls of a run are not among those recorded: by what the program itself knows, or else as the tracer says."""
    return run["made"] - run["calls"] if run.get("made") else run.get("lost")


def duration(ns):
    """A time in a unit that suits it."""
    for unit, length in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= length:
            return f"{ns / length:.3g} {unit}" if ns < 1000 * length else f"{ns / length:,.0f} {unit}"
    return f"{ns:.3g} ns"


def count(number):
    """A number of calls, as short as can be said without doubt about small ones."""
    if abs(number) < 100_000:
        return f"{number:,.0f}"
    for unit, length in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= length:
            return f"{number / length:.3g} {unit}"


def ratio(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


SHOWN = {"first": duration, "later": duration, "median": duration, "slowdown_first": ratio, "slowdown": ratio,
         "pair": lambda ns: f"{ns:,.1f} ns" if abs(ns) < 100 else f"{ns:,.0f} ns", "floors": ratio, "bytes": lambda value: f"{value:.2f}",
         "calls": count, "lost": count, "peak": lambda mb: f"{mb:,.0f} MB", "report": lambda seconds: f"{seconds:.1f} s"}


def shown(found):
    """A cell's figures as texts, in the order of the columns."""
    texts = {name: SHOWN[name](found[name]) if name in found else "–" for name, _ in COLUMNS}
    if "is_late" in found:
        texts["report"] = f"> {found['report']:.0f} s"
    # What differs from run to run by less is not worth a word.
    if abs(found.get("share", 1) - 1) > 0.005:
        texts["calls"] += f" ({found['share']:.1%})"
    return list(texts.values())


def tables(runs, floor):
    """For each work and JDK that there are runs of: its heading, and a row for each tracer, of its name and its texts, or its name and why there are none."""
    for work in WORKS.values():
        for jdk in sorted({run["jdk"] for run in runs if run["work"] == work.name}):
            rows = []
            for name in TRACERS:
                found = figures(runs, work, jdk, name, floor)
                if found:
                    rows.append((name, found["failed"]) if "failed" in found else (name, shown(found)))
            made = calls_made(runs, work, jdk)
            calls = f", {count(made[1])} calls" if made else ""
            if rows:
                yield f"{work.title}, JDK {jdk} (a batch: {work.batch}{calls})", rows


def text(runs, floor):
    """The tables as lines."""
    lines = []
    for heading, rows in tables(runs, floor):
        cells = [["", *(title for _, title in COLUMNS)]] + [[name, *found] for name, found in rows if isinstance(found, list)]
        names = max(len(name) for name, _ in rows)
        widths = [max(names, len(cells[0][0])), *(max(len(row[i]) for row in cells) for i in range(1, len(cells[0])))]
        line = lambda row: "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()
        lines += ["", heading, line(cells[0])]
        lines += [line([name, *found]) if isinstance(found, list) else f"{name.ljust(widths[0])}  {found}" for name, found in rows]
    return lines


def markdown(runs, floor, machine):
    """The same for a page."""
    told = machine | {"JDK": ", ".join(text for _, text in sorted(machine["JDK"].items()))}
    lines = [f"{key if key == 'jtrail' else key[0].upper() + key[1:]}: {value}." for key, value in told.items()]
    lines = [" ".join(lines + ([f"Floor: {floor:.1f} ns for two time stamps and two stores."] if floor else []))]
    for heading, rows in tables(runs, floor):
        lines += ["", f"### {heading}", "", "| |" + "|".join(f" {title} " for _, title in COLUMNS) + "|", "|---|" + "---:|" * len(COLUMNS)]
        reasons = []
        for name, found in rows:
            if isinstance(found, list):
                lines.append(f"| {name} | " + " | ".join(found) + " |")
            else:
                reasons.append(f"- {name}: {found}")
        lines += ["", *reasons] if reasons else []
    return lines


def document(runs, floors, machine):
    """All of it in plain types, for JSON: what was measured, and each cell with its units."""
    floor = min(floors, default=None)
    cells = [{"work": work.name, "jdk": jdk, "tracer": name, "figures": found}
             for work in WORKS.values() for jdk in sorted({run["jdk"] for run in runs if run["work"] == work.name})
             for name in TRACERS if (found := figures(runs, work, jdk, name, floor))]
    return {"machine": machine, "floor_ns": floors, "units": UNITS, "cells": cells, "runs": runs}


def load(path, machine):
    """The runs and floors that a file has from before, of this machine and this state of the sources, whose JDKs are added to `machine`."""
    if not path or not path.exists():
        return [], []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        before, runs, floors = found["machine"], found["runs"], found["floor_ns"]
    except (ValueError, KeyError, TypeError) as problem:
        raise SystemExit(f"bench: {path} is no file of scripts/bench ({problem!r}): give another name to --json") from problem
    # Of further JDKs there may be runs.
    machine["JDK"] = before["JDK"] | machine["JDK"]
    if before | {"JDK": machine["JDK"]} != machine or before["JDK"].items() - machine["JDK"].items():
        raise SystemExit(f"bench: {path} was measured elsewhere ({before}; here {machine}): give another name to --json")
    return runs, floors
