"""Counts the messages of TPTP's formats in the traces of several runs."""

import collections

# The kinds of events of `jtrail verify --counts`, by the number of their message. A run records
# calls one by one or added up, not both.
MESSAGES = {
    1001: "Node", 1002: "ProcessCreate", 1003: "AgentCreate", 1004: "AgentDestroy", 1005: "TraceStart", 1006: "TraceEnd",
    1007: "Filter", 1008: "Option", 1009: "ThreadStart", 1010: "ThreadEnd", 1011: "ClassDef", 1012: "MethodDef",
    1014: "ObjectAlloc", 1015: "MethodEnter", 1016: "MethodLeave", 1023: "GcStart", 1024: "ObjectFree", 1027: "GcFinish",
    1030: "RuntimeInitDone", 1031: "RuntimeShutdown", 1032: "MonitorWait", 1033: "MonitorWaited",
    1034: "MonitorContendedEnter", 1035: "MonitorContendedEntered", 1036: "AggregatedEnter", 1037: "AggregatedLeave",
    1038: "HeapDump", 1039: "GcRoot", 1040: "ObjectReference", 1041: "Custom",
}
SPELLINGS = ("binary", "xml")


def count(rows):
    """By spelling and kind: how often each message occurs in all runs of that spelling together."""
    found = {}
    for row in rows:
        spelling = row.get("format", "").partition("-")[0]
        if spelling in SPELLINGS:
            found.setdefault(spelling, collections.Counter()).update(row.get("kinds", {}))
    return {spelling: {kind: kinds[kind] for kind in MESSAGES.values()} for spelling, kinds in found.items()}


def report(rows):
    """Prints the counts. Returns what is wrong: messages that no run of a spelling has."""
    found = count(rows)
    print()
    for number, kind in MESSAGES.items():
        counts = "".join(f"{spelling} {kinds[kind]:>12,}  " for spelling, kinds in found.items())
        print(f"{number} {kind:<24}{counts}".rstrip())
    missing = {spelling: [kind for kind, count in kinds.items() if not count] for spelling, kinds in found.items()}
    wrong = [f"no {', '.join(kinds)} in {spelling}" for spelling, kinds in missing.items() if kinds]
    for text in wrong:
        print(text)
    return wrong if found else ["no run in TPTP's formats"]
