"""Compares what an observer finds alone and with jtrail beside it."""

import json
import re

from other_observers.program import CALLS, LEFT_BY_EXCEPTION, MAIN, run

# Lines of the observers, of jtrail and of the JVM.
NOT_THE_PROGRAM = re.compile(r"^(jtrail: |@ |\[otel|OpenJDK 64-Bit Server VM warning|\[[0-9.]+s\]\[|WARNING: |Started recording|$"
                             r"|Use jcmd|\s*jcmd )")


def program_output(result):
    """A program's exit code and its own lines on standard output."""
    return result.returncode, [line for line in result.stdout.splitlines() if not NOT_THE_PROGRAM.match(line)]


def compare(order, alone, beside, expected):
    """Returns the differences that were not expected, and the known ones, as sentences."""
    plain, found = alone
    with_jtrail, found_beside = beside
    wrong, known = [], []
    if program_output(plain) != program_output(with_jtrail):
        wrong.append(f"output: {program_output(plain)} alone, {program_output(with_jtrail)} {order}: "
                     f"{with_jtrail.stderr[-2000:]}")
    labels = found.keys() | found_beside.keys()
    if any(label.rpartition(" ")[0] == expected.kind for label in labels):
        # Includes methods that neither run counted, although the run with jtrail should have.
        labels |= {f"{expected.kind} {method}" for method in LEFT_BY_EXCEPTION}
    for label in sorted(labels):
        one, other = found.get(label, 0), found_beside.get(label, 0)
        if other != expected(one, label, order.endswith("before it")):
            wrong.append(f"{label}: {one} alone, {other} {order}")
        elif one != other:
            known.append(f"{label}: {one} alone, {other} {order}")
    return wrong, known


def trace_problems(jtrail, trace):
    """What is wrong with jtrail's own trace."""
    verify = run([jtrail, "verify", trace], trace.parent)
    if verify.returncode != 0:
        return [f"the trace is not sound: {verify.stdout}{verify.stderr}"]
    report = run([jtrail, "report", trace, "--only", "methods", "--top", "0", "--format", "json"], trace.parent)
    counts = {}
    for method in json.loads(report.stdout)["methods"]:
        owner, _, name = method["method"].partition("(")[0].rpartition(".")
        if owner == MAIN:
            counts[name] = method["calls"]
    return [f"jtrail: {name}: {counts.get(name, 0)} calls, not {count}"
            for name, count in CALLS.items() if counts.get(name) != count]
