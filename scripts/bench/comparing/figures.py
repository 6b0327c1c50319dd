"""The figures of works under tracers, from their runs.

A run is what `works.Run.execute` returns, together with the names of work, JDK and tracer. A failed
run has the reason as `failed`. Runs of one work, JDK and tracer make up a cell. The figures of a
cell are the minimum of the first batches, the minimum of the later ones, and the median of the
runs' medians.
"""

import statistics

from bench.comparing.tracers import BARE, TRUTH
from bench.comparing.works import WORKS

COUNT = "count"  # the tracer's name in runs that only count calls
UNITS = {"first": "ns", "later": "ns", "median": "ns", "slowdown_first": "times bare", "slowdown": "times bare",
         "pair": "ns per call more than bare", "floors": "times the floor", "bytes": "bytes per enter or leave",
         "calls": "calls of a run", "share": "part of the calls of that run", "lost": "calls of that run",
         "peak": "MB", "report": "s", "is_late": "the report was ended at that time"}


def select(runs, work, jdk, tracer):
    """The runs of a cell."""
    return [run for run in runs if (run["work"], run["jdk"], run["tracer"]) == (work, jdk, tracer)]


def successful(runs):
    return [run for run in runs if "failed" not in run]


def split(run):
    """The time of the first batch, and the times of the later ones. A run that has only one
    batch by design (`is_single`) has no first one."""
    times = run["batches"]
    return (None, times) if WORKS[run["work"]].is_single else (times[0], times[1:])


def calls_made(runs, work, jdk):
    """The number of calls in a first batch and in each later one, or None if no run has it. For a
    server, both are the number of calls for an answer."""
    truth = [run for run in successful(select(runs, work.name, jdk, TRUTH.name)) if run.get("calls")]
    known = next((run for run in successful(runs)
                  if run["work"] == work.name and run["jdk"] == jdk and run.get("made")), None)
    if known:
        each = known["made"] / len(known["batches"])
        return each, each
    if work.is_server:
        return (truth[0]["calls"] / truth[0]["answers"],) * 2 if truth else None
    counted = (run["calls"] for run in successful(select(runs, work.name, jdk, COUNT)) if run.get("calls"))
    first = next(counted, None)
    if not truth or first is None or len(truth[0]["batches"]) < 2:
        return None
    return first, (truth[0]["calls"] - first) / (len(truth[0]["batches"]) - 1)


def figures(runs, work, jdk, tracer, floor):
    """The figures of a cell, by the names of UNITS. If all runs failed, the reason as `failed`;
    without runs, None."""
    own, bare = select(runs, work.name, jdk, tracer), successful(select(runs, work.name, jdk, BARE.name))
    good = successful(own)
    if not good:
        return {"failed": own[-1]["failed"]} if own else None
    found = times(good)
    found["peak"] = max(run["peak_mb"] for run in good)
    made = calls_made(runs, work, jdk)
    if bare and tracer != BARE.name:
        found |= slowdowns(found, times(bare), work, made, floor)
    counted = next((run for run in good if run.get("calls") is not None), None)
    if counted:
        found["calls"] = counted["calls"]
        # With few calls, most of the bytes would be the file's head.
        if counted.get("bytes") is not None and counted["calls"] >= 1000:
            found["bytes"] = counted["bytes"] / counted["calls"] / 2
        found["lost"] = calls_lost(counted)
        if expected := calls_expected(counted, work, made):
            found["share"] = counted["calls"] / expected
        found["report"], found["is_late"] = counted.get("report"), counted.get("is_late")
    return {name: value for name, value in found.items() if value is not None}


def times(good):
    """The figures of time of a cell."""
    first = [first for first, _ in map(split, good) if first is not None]
    later = [later for _, later in map(split, good) if later]
    found = {"first": min(first)} if first else {}
    if later:
        found["later"] = min(map(min, later))
        found["median"] = statistics.median(map(statistics.median, later))
    return found


def slowdowns(found, plain, work, made, floor):
    """Compares the times of a cell with `plain`, those of the bare program."""
    more = {}
    if "first" in found and "first" in plain:
        more["slowdown_first"] = found["first"] / plain["first"]
    if "later" in found and "later" in plain:
        more["slowdown"] = found["later"] / plain["later"]
        # If a program keeps several processors busy, recording costs time on each.
        if made and not work.is_single:
            more["pair"] = (found["later"] - plain["later"]) * work.cores / made[1]
            more["floors"] = more["pair"] / floor if floor else None
    return more


def calls_expected(run, work, made):
    """The number of calls that a run should have made, roughly so if runs differ. None if it is
    unknown."""
    if run.get("made"):
        return run["made"]
    # The number of calls for an answer includes those of the server's start, so it does not fit
    # another run.
    if not made or work.is_server:
        return None
    return made[0] + made[1] * (len(run["batches"]) - 1)


def calls_lost(run):
    """The number of calls of a run that are not recorded: according to the program if it counts its
    calls, otherwise to the tracer."""
    return run["made"] - run["calls"] if run.get("made") else run.get("lost")
