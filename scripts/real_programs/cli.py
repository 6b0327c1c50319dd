"""Runs real programs with and without the agent, and compares.

Each program runs twice plain and once with the agent for each format, in the same JVM, with all
classes verified. What differs between the plain runs is not the agent's doing. Everything else
(output, exit code, files written) must be the same with the agent, and the trace must be sound. The
trace goes through a named pipe straight to `jtrail verify -`, so that its size does not matter.

Programs of several JVMs get their options in JAVA_TOOL_OPTIONS. Each JVM writes a file, which is
verified when all have ended.

Programs come from Maven Central by mvn and are kept in a cache. Exits with 1 if anything differs.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from real_programs import figures, messages
from real_programs.check import FORMATS, Program, check, keep
from real_programs.programs import PROGRAMS, QUICK
from support import arguments, jdks
from support.errors import Unavailable

# The page has a table for runs with these options.
ALL_EVENTS = "events=all"


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=f"Programs: {' '.join(PROGRAMS)}")
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    arguments.add_cache(parser)
    parser.add_argument("--only", action="append", metavar="NAME", choices=PROGRAMS, help="run this program; repeatable")
    parser.add_argument("--list", action="store_true", help="print the names of the programs, and run none")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all-classes", action="store_true", help="include=* instead of the program's packages")
    which.add_argument("--both", action="store_true", help="first the program's packages, then include=*")
    which.add_argument("--quick", action="store_true", help="a few programs, for continuous integration")
    parser.add_argument("--markdown", type=Path, metavar="PAGE",
                        help="put the figures into this page; with --options only events=all")
    parser.add_argument("--options", default="", help="more options for the agent")
    parser.add_argument("--format", action="append", metavar="NAME", choices=FORMATS,
                        help=f"repeatable: {' '.join(FORMATS)} (default: binary)")
    parser.add_argument("--messages", action="store_true",
                        help="count TPTP's messages, and fail if one is in no run of binary, or in none of xml")
    parser.add_argument("--plain", action="store_true", help="without the agent: do the programs run, and alike?")
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="run each program once, with the agent alone, and keep its trail as FOLDER/NAME.trail")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS", help="of each run (default: %(default)s)")
    options = parser.parse_args()
    if options.markdown and options.options not in ("", ALL_EVENTS):
        parser.error(f"the page has figures of runs without --options, and with --options {ALL_EVENTS}")
    return options


def todo(options):
    """Yields the programs to run, each with True for all classes or False for its own."""
    for all_classes in (False, True):
        for name in options.only or (QUICK if options.quick else PROGRAMS):
            if options.quick:
                wanted = not all_classes or QUICK.get(name, False) and not options.keep
            else:
                wanted = options.both or all_classes == options.all_classes
            if wanted:
                yield name, all_classes


def run_one(options, jdk, name, all_classes):
    """Runs one program in one JVM. Returns its rows of the table."""
    what = f"{name} on Java {jdk.feature}{', all classes' if all_classes else ''}"
    spec = PROGRAMS[name]
    reason = jdk.lacks(spec.oldest, spec.needs_compiler, spec.newest) or spec.lacks(jdk)
    if reason:
        print(f"{what}: skipped: {reason}", flush=True)
        return []
    if name == "javac" and not jdks.source(jdk):
        print(f"javac: no src.zip for Java {jdk.feature}: compiles a part of commons-lang3, not java.util", flush=True)
    print(f"{what} …", end="", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jtrail-real-") as scratch:
        program = Program(name, jdk, options.cache.resolve(), all_classes or options.quick)
        if options.keep:
            rows = keep(program, options, Path(scratch).resolve())
        else:
            rows = check(program, options, all_classes, Path(scratch).resolve())
    wrong = "; ".join(text for row in rows for text in row["wrong"])
    print(f" {wrong or 'ok'} ({time.monotonic() - started:.0f} s)", flush=True)
    return rows


def main():
    options = parse()
    if options.list:
        print(*PROGRAMS, sep="\n")
        return
    if not options.plain:
        arguments.check_build(options)
    homes = arguments.jdks(options)
    rows = [row for jdk in homes for name, all_classes in todo(options)
            for row in run_one(options, jdk, name, all_classes)]
    if not rows:
        raise Unavailable("real-programs: no program was run")
    if options.keep:
        sys.exit(1 if any(row["wrong"] for row in rows) else 0)
    if options.markdown:
        (figures.write_all_events if options.options else figures.write)(options.markdown, rows, homes)
    figures.show(rows, options.plain)
    missing = messages.report(rows) if options.messages else []
    sys.exit(1 if missing or any(row["wrong"] for row in rows) else 0)
