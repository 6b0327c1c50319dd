"""Exports traces of real programs, and has the tools read them that the exports are for.

The sample application, javac, H2 and Tomcat are traced with all kinds of events, with few enough
events that every reader is quick. Each target's export of the trace is read by a tool that jtrail did not
write, and that tool's figures must be those of `jtrail report`: calls, total and self time by method
and thread; collections, waits and allocations, where the target has them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from read_exports.tools import Tools
from support import arguments
from support.paths import SCRIPTS
from support.processes import run

HERE = Path(__file__).resolve().parent
# The programs, each with the call that the trace begins with: when the program is well under way.
PROGRAMS = {
    "shop": "org.example.shop.orders.Checkout.process:100",
    "javac": "com.sun.tools.javac.comp.Attr.attribClass:10",
    "h2": "org.h2.jdbc.JdbcStatement.execute:3",
    "tomcat": "org.apache.catalina.connector.CoyoteAdapter.service:20",
}
# With little room for new objects, there are collections in a short time. Java 17 does not start
# with less.
SMALL_HEAP = "-XX:+UseSerialGC -Xmn512k"


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    arguments.add_cache(parser)
    parser.add_argument("--only", action="append", choices=PROGRAMS, help="trace this program; repeatable")
    parser.add_argument("--reader", action="append", choices=[*READERS, FLAME], help="have this read; repeatable")
    parser.add_argument("--events", type=int, default=100_000, help="events of each trace (default: 100000)")
    return parser.parse_args()


def trace(options, jdk, name, folder):
    """Returns the trace of a burst of a program's events."""
    run([sys.executable, SCRIPTS / "real-programs", "--quick", "--only", name, "--keep", folder,
         "--options", f"events=all,burst=call:{PROGRAMS[name]}/{options.events}",
         "--jdk", jdk.home, "--agent", options.agent, "--jtrail", options.jtrail, "--cache", options.cache],
        env=os.environ | {"JAVA_TOOL_OPTIONS": SMALL_HEAP})
    return folder / f"{name}.trail"


def script(tools, name, part, export, *words):
    """A command that runs one of the scripts in this folder."""
    return [sys.executable, HERE / name, "--jtrail", tools.jtrail, *words, part, export]


def perfetto(tools, part, export):
    """Perfetto's own engine in Node.js, and the Perfetto UI or, for `chrome`, speedscope's page."""
    return script(tools, "perfetto_engine.py", part, export, "--engine", tools.perfetto(), *tools.pages())


def perfetto_messages(tools, part, export):
    """Perfetto's messages for Python."""
    return script(tools, "perfetto_messages.py", part, export)


def pprof(tools, part, export):
    """`go tool pprof`."""
    return script(tools, "pprof.py", part, export)


def jfr(tools, part, export):
    """The JDK's `jfr`, JDK Mission Control with its rules, and async-profiler's converter."""
    return script(tools, "jfr.py", part, export, "--jdk", tools.jdk.home, "--libraries", tools.mission_control())


def otlp(tools, part, export):
    """The protocol's own messages for Python, for files and for what is sent to a collector."""
    json_too = export.with_suffix(".json")
    run([tools.jtrail, "export", part, "-o", json_too, "--force"])
    return [*script(tools, "otlp.py", part, export, "--send"), json_too]


def speedscope(tools, part, export):
    """speedscope's page in Chromium."""
    return script(tools, "speedscope.py", part, export, *tools.pages())


def firefox(tools, part, export):
    """Mozilla's own loader."""
    return script(tools, "firefox.py", part, export, "--node", tools.late_node(), "--cli", tools.profiler_cli())


# By reader: the extension of the export that it reads, and its command.
READERS = {
    "perfetto": (".pftrace", perfetto),
    "messages": (".pftrace", perfetto_messages),
    "chrome": (".trace.json", perfetto),
    "pprof": (".pb.gz", pprof),
    "jfr": (".jfr", jfr),
    "otlp": (".otlp.pb", otlp),
    "speedscope": (".speedscope.json", speedscope),
    "firefox": (".firefox.json.gz", firefox),
}
# Reads the pages of all programs at once, in Chromium.
FLAME = "flame"


def export(tools, part, to):
    """Exports a trace to a file, whose extension says the target."""
    run([tools.jtrail, "export", part, "-o", to, "--force"])
    return to


def show(reader, started, done):
    """Prints what a reader says: its last line, or all of it if something differs. Returns true if
    nothing does."""
    last = (done.stdout.strip().splitlines() or ["nothing"])[-1]
    print(f"  {reader:<10} {time.monotonic() - started:5.1f} s  {last}", flush=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def read(tools, reader, part):
    """Exports a trace and has it read. Returns true if the reader agrees with the report."""
    extension, command = READERS[reader]
    started = time.monotonic()
    to = export(tools, part, part.with_name(f"{part.stem}-{reader}{extension}"))
    with tools.lock:
        command, environment = [str(word) for word in command(tools, part, to)], tools.environment()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    to.unlink()
    return show(reader, started, done)


def read_flame(tools, parts, folder):
    """Has the flame graphs of all traces read. Returns true if they agree with the reports."""
    started = time.monotonic()
    for part in parts:
        export(tools, part, folder / f"{part.stem}.html")
        words = ["--format", "json", "--only", "methods,trace,allocation_threads", "--top", "0"]
        (folder / f"{part.stem}.json").write_text(run([tools.jtrail, "report", part, *words]))
    run([tools.jtrail, "export", parts[0], "--base", parts[-1], "-o", folder / f"{parts[0].stem}-vs-{parts[-1].stem}.html"])
    environment = tools.environment() | {"NODE_PATH": str(tools.modules()), "CHROMIUM": tools.chromium()}
    done = subprocess.run(["node", HERE / "flame.js", folder], capture_output=True, text=True, env=environment)
    return show(FLAME, started, done)


def check(options, jdk, folder):
    """Traces and reads all programs with one JDK. Returns true if all readers agree with the reports."""
    tools = Tools(options, jdk)
    wanted = options.reader or [*READERS, FLAME]
    agree, parts = True, []
    for name in options.only or PROGRAMS:
        started = time.monotonic()
        part = trace(options, jdk, name, folder)
        print(f"{name} on Java {jdk.feature}: {part.stat().st_size:,} bytes in {time.monotonic() - started:.0f} s", flush=True)
        parts.append(part)
        # Most readers use one processor.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            readers = [reader for reader in wanted if reader != FLAME]
            agree &= all(list(pool.map(lambda reader: read(tools, reader, part), readers)))
    if FLAME in wanted:
        pages = folder / "pages"
        pages.mkdir()
        agree &= read_flame(tools, parts, pages)
    return agree


def main():
    options = parse()
    arguments.check_build(options)
    agree = True
    for jdk in arguments.jdks(options):
        with tempfile.TemporaryDirectory(prefix="jtrail-exports-") as folder:
            agree &= check(options, jdk, Path(folder))
    sys.exit(0 if agree else 1)
