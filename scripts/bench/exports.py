"""Exports of a long trace, to each target: peak memory, and events a second.

The trace is a trail with as many methods as javac has, on 64 threads, like the one of `convert`.
The output is discarded. Events are the enters and leaves of the trace, per second of CPU time.
Calls nest at random in this trace, so that a million of them have 350,000 call paths. Therefore
targets that keep call paths have no bound here, like those that keep all calls.
"""

import os
import subprocess
import sys

from bench.convert import MAX_MB, THREADS
from bench.session import example
from support.paths import JTRAIL

JAVA = None
EXAMPLES = (("formats", "write_trace"),)

STREAMING = ("perfetto", "chrome", "jfr", "otlp")
IN_MEMORY = ("collapsed", "flame", "pprof", "firefox", "speedscope")
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


def measure(session):
    events = session.args.calls
    trace = session.folder / "exports.trail"
    with open(trace, "wb") as file:
        subprocess.run([example("write_trace"), "trail", str(events), str(THREADS)], check=True, stdout=file)
    for target in STREAMING + IN_MEMORY:
        memory, seconds = export(trace, target)
        rate = events / seconds / 1e6
        limits, results = ("", ["", ""]) if target in IN_MEMORY else (
            f"<= {MAX_MB} MB, >= {MIN_RATE:g} M/s",
            ["  PASS" if fits else "  FAIL" for fits in (memory <= MAX_MB, rate >= MIN_RATE)])
        session.add(f"export, {events / 1e6:.0f} M events, {target}", limits, f"{memory:.0f} MB{results[0]}",
                    f"{rate:.1f} M events/s{results[1]}")
        print("  ".join(session.rows[-1]), file=sys.stderr)
