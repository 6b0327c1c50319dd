"""Exports traces of real programs, and has the tools read them that the exports are for.

The sample application, javac, H2 and Tomcat are traced with all kinds of events. Each trace is cut
to its first calls, so that every reader is quick. Each target's export of it is read by a tool that
jtrail did not write, and that tool's figures must be those of `jtrail report`: calls, total and
self time by method and thread; collections, waits and allocations, where the target has them.

With --pages, there are also the readers that need Chromium or a later Node.js: speedscope's page,
the Firefox Profiler's loader, and the flame graph in a browser.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from read_exports.tools import Tools
from support import arguments
from support.paths import SCRIPTS
from support.processes import run

HERE = Path(__file__).resolve().parent
PROGRAMS = ("shop", "javac", "h2", "tomcat")
# How many calls of a trace are exported. Readers take some seconds for as many.
CALLS = 60_000


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    arguments.add_cache(parser)
    parser.add_argument("--only", action="append", choices=PROGRAMS, help="trace this program; repeatable")
    parser.add_argument("--target", action="append", choices=sorted(READERS), help="read this target; repeatable")
    parser.add_argument("--pages", action="store_true", help="also what needs a browser or a later Node.js")
    return parser.parse_args()


def trace(options, jdk, name, folder):
    """Returns the trace of the first calls of a program."""
    kept = folder / "kept"
    kept.mkdir()
    run([sys.executable, SCRIPTS / "real-programs", "--quick", "--only", name, "--keep", kept, "--options", "events=all",
         "--jdk", jdk.home, "--agent", options.agent, "--jtrail", options.jtrail, "--cache", options.cache])
    whole, part = kept / f"{name}.trail", folder / f"{name}.trail"
    # The calls lie densely somewhere, so the time that they take is searched.
    low, high = 0, 1 << 40
    while high - low > 1_000_000:
        until = (low + high) // 2
        if calls_until(options, whole, until) > CALLS:
            high = until
        else:
            low = until
    run([options.jtrail, "convert", whole, part, "--until", f"{high}ns"])
    whole.unlink()
    return part


def calls_until(options, whole, until):
    """The number of calls that begin before a time."""
    words = [options.jtrail, "report", whole, "--until", f"{until}ns", "--only", "threads", "--top", "0", "--format", "json"]
    return sum(row["calls"] or 0 for row in json.loads(run(words))["threads"])


def perfetto(tools, part, export):
    """Perfetto's own engine, in Node.js."""
    return [sys.executable, HERE / "perfetto.py", part, export, "--jtrail", tools.jtrail, "--engine", tools.perfetto()]


def pprof(tools, part, export):
    """`go tool pprof`."""
    return [sys.executable, HERE / "pprof.py", "--jtrail", tools.jtrail, part, export]


def jfr(tools, part, export):
    """The JDK's `jfr`."""
    return [sys.executable, HERE / "jfr.py", "--jtrail", tools.jtrail, "--jdk", tools.jdk.home, part, export]


def otlp(tools, part, export):
    """The protocol's own messages in Python."""
    report = export.with_suffix(".json")
    report.write_text(run([tools.jtrail, "report", part, "--format", "json", "--top", "0"]))
    return [sys.executable, HERE / "otlp.py", "--report", report, export]


def speedscope(tools, part, export):
    """speedscope's page in Chromium."""
    return [sys.executable, HERE / "speedscope.py", part, export, "--jtrail", tools.jtrail,
            "--modules", tools.modules(), "--chromium", tools.chromium()]


def firefox(tools, part, export):
    """Mozilla's own loader."""
    return [sys.executable, HERE / "firefox.py", "--jtrail", tools.jtrail, "--node", tools.late_node(),
            "--cli", tools.profiler_cli(), part, export]


# By target: the reader, and the extension of the export.
READERS = {
    "perfetto": (perfetto, ".pftrace"),
    "chrome": (perfetto, ".trace.json"),
    "pprof": (pprof, ".pb.gz"),
    "jfr": (jfr, ".jfr"),
    "otlp": (otlp, ".otlp.pb"),
    "speedscope": (speedscope, ".speedscope.json"),
    "firefox": (firefox, ".firefox.json.gz"),
}
PAGES = ("speedscope", "firefox")


def read(tools, target, part):
    """Exports a trace and has it read. Returns true if the reader agrees with the report."""
    reader, extension = READERS[target]
    export = part.with_suffix(extension)
    started = time.monotonic()
    subprocess.run([tools.jtrail, "export", part, "-o", export, "--force"], check=True, capture_output=True)
    command = [str(word) for word in reader(tools, part, export)]
    done = subprocess.run(command, capture_output=True, text=True, env=tools.environment())
    took = time.monotonic() - started
    last = (done.stdout.strip().splitlines() or ["nothing"])[-1]
    print(f"  {target:<10} {took:5.1f} s  {last}", flush=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, flush=True)
    export.unlink()
    return done.returncode == 0


def main():
    options = parse()
    arguments.check_build(options)
    targets = options.target or [name for name in READERS if options.pages or name not in PAGES]
    failed = False
    for jdk in arguments.jdks(options):
        tools = Tools(options, jdk)
        for name in options.only or PROGRAMS:
            with tempfile.TemporaryDirectory(prefix="jtrail-exports-") as scratch:
                part = trace(options, jdk, name, Path(scratch))
                print(f"{name} on Java {jdk.feature}: {part.stat().st_size:,} bytes", flush=True)
                for target in targets:
                    failed |= not read(tools, target, part)
    sys.exit(1 if failed else 0)
