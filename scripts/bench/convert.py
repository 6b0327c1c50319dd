"""Conversions of a long trace, for each pair of formats: peak memory, and events a second.

The trace has as many methods as javac has (33,000 in 3,000 classes, as docs/real-programs.md counts
them), on 64 threads. It is made event by event and goes through a pipe into `jtrail convert`, whose
output is discarded. So no file is written, however long the trace is. Events are the enters and
leaves of the source, per second of the converter's CPU time. A ProfilerJ document holds sums only:
as a source, it has as many call paths as its format keeps.
"""

import os
import subprocess
import sys

from bench.session import example
from support.paths import JTRAIL

JAVA = None
EXAMPLES = (("formats", "write_trace"),)

FORMATS = ("binary", "xml", "jinsight", "mlpd", "mlpd 17", "tracelog", "profilerj", "trail")
MAX_MB = 300
THREADS = 64


def convert(source, target, calls):
    """Converts a trace. Returns peak memory in MB and CPU seconds."""
    writer = subprocess.Popen([example("write_trace"), source, str(calls), str(THREADS)], stdout=subprocess.PIPE)
    name, _, version = target.partition(" ")
    to = ["--to", name, *(["--mlpd.version", version] if version else [])]
    reader = subprocess.Popen([JTRAIL, "convert", "-", "/dev/null", *to], stdin=writer.stdout, stderr=subprocess.PIPE,
                              text=True)
    writer.stdout.close()
    errors = reader.stderr.read()
    _, status, used = os.wait4(reader.pid, 0)
    reader.returncode = os.waitstatus_to_exitcode(status)
    if writer.wait() != 0 or reader.returncode != 0:
        sys.exit(f"{source} to {target}: exit {writer.returncode} and {reader.returncode}\n{errors}")
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def measure(session):
    calls = session.args.calls
    for source in FORMATS:
        for target in FORMATS:
            if source == target:
                continue
            memory, seconds = convert(source, target, calls)
            result = "PASS" if memory <= MAX_MB else "FAIL"
            session.add(f"convert, {calls / 1e6:.0f} M events, {source} to {target}", f"<= {MAX_MB} MB",
                        f"{memory:.0f} MB  {result}", f"{calls / seconds / 1e6:.1f} M events/s")
            print("  ".join(session.rows[-1]), file=sys.stderr)
