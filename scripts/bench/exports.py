"""Exports of long traces of real programs, to each target: peak memory, and events a second.

The programs are works of comparing/works.py. javac has one busy thread and deep stacks, the server
has many threads. Their traces end after --calls events. The output is discarded. Events are those
that `jtrail verify` counts, per second of CPU time. Targets that keep all calls until the end have
no bound.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.comparing.tracers import Jtrail
from bench.comparing.works import WORKS, Run, Setup
from bench.convert import MAX_MB
from support.paths import JTRAIL, TARGET
from support.processes import run

JAVA = ()
EXAMPLES = ()

# The works, each with the call that its trace begins with.
TRACED = {"javac": "com.sun.tools.javac.main.JavaCompiler.compile:1",
          "server": "org.apache.catalina.connector.CoyoteAdapter.service:1"}
STREAMING = ("perfetto", "chrome", "jfr", "otlp", "collapsed", "flame", "pprof")
IN_MEMORY = ("firefox", "speedscope")
MIN_RATE = 5.0
"""Million events a second."""


def export(trace, target):
    """Exports a trace. Returns peak memory in MB and CPU seconds."""
    command = [JTRAIL, "export", trace, "--to", target, "-o", "/dev/null", "--force"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"export to {target}: exit {process.returncode}\n{errors}")
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def record(session, name, folder):
    """Traces a work. Returns the trace and its number of events."""
    setup = Setup(session.jdks[-1], session.args.quick, session.args.limit)
    setup.prepare(WORKS[name])
    one = Run(setup, WORKS[name], folder / name).clear()
    tracer = Jtrail(name, f"burst=call:{TRACED[name]}/{session.args.calls}")
    one.execute(tracer)
    said = run([JTRAIL, "verify", tracer.file(one)])
    return tracer.file(one), int(re.search(r"([\d,]+) events", said)[1].replace(",", ""))


def measure(session):
    # Traces are large: if /tmp is memory, they would not fit.
    with tempfile.TemporaryDirectory(prefix="bench-", dir=TARGET) as folder:
        for name in TRACED:
            trace, events = record(session, name, Path(folder))
            for target in STREAMING + IN_MEMORY:
                add(session, f"export, {name}, {events / 1e6:.0f} M events, {target}", target,
                    events, *export(trace, target))


def add(session, what, target, events, memory, seconds):
    """Adds the row of an export."""
    rate = events / seconds / 1e6
    limits, results = ("", ["", ""]) if target in IN_MEMORY else (
        f"<= {MAX_MB} MB, >= {MIN_RATE:g} M/s",
        ["  PASS" if fits else "  FAIL" for fits in (memory <= MAX_MB, rate >= MIN_RATE)])
    session.add(what, limits, f"{memory:.0f} MB{results[0]}", f"{rate:.1f} M events/s{results[1]}")
    print("  ".join(session.rows[-1]), file=sys.stderr)
