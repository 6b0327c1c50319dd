"""Runs a program under other observers, alone and with jtrail beside them, and compares.

Each observer (JFR, JaCoCo, Byteman, AspectJ, OpenTelemetry, jdb) runs alone, then with jtrail
loaded before it, and if the order of agents can matter, after it. The program's exit code and
output must be the same, the observer must find the same but for the differences that
docs/observers.md lists, and jtrail's trace must be sound, with the known calls of the program.

Observers come from Maven Central by mvn and are kept in a cache. Exits with 1 if anything else
differs.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from other_observers.compare import compare, trace_problems
from other_observers.observers import OBSERVERS
from other_observers.program import MAIN, Setting
from support import arguments, paths


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    parser.add_argument("--only", action="append", choices=OBSERVERS, help="run this observer; repeatable")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", default=paths.TARGET / "observers",
                        help="where observers are kept (default: target/observers)")
    return parser.parse_args()


def check(options, setting, name):
    """Runs one observer in all orders. Returns how many of them differ."""
    observe, has_order, expected = OBSERVERS[name]
    heading = f"{name:14} JDK {setting.jdk.feature}"
    failed = 0
    with tempfile.TemporaryDirectory(prefix="jtrail-observers-") as work:
        folders = [Path(work) / folder for folder in ("alone", "before", "after")]
        for folder in folders:
            folder.mkdir()
        alone = observe(setting, [], [], folders[0])
        if alone[0] is None:
            print(f"{heading}: this JDK has no such tool")
            return 0
        if alone[0].returncode != 0 or not alone[1]:
            print(f"{heading}: does not work alone: {alone[0].stderr[-1000:]}")
            return 1
        orders = [("jtrail before it", folders[1])] + [("jtrail after it", folders[2])] * has_order
        for order, folder in orders:
            trace = folder / "f.trail"
            agent = [f"-agentpath:{options.agent}=format=trail,file={trace},include={MAIN}"]
            agents = (agent, []) if folder == folders[1] else ([], agent)
            beside = observe(setting, *agents, folder)
            wrong, known = compare("with " + order, alone, beside, expected)
            wrong += trace_problems(options.jtrail, trace)
            failed += bool(wrong)
            verdict = "DIFFERS" if wrong else "as expected" if known else "the same"
            print(f"{heading}, {order}: {len(alone[1])} figures, {verdict}")
            for line in wrong[:12]:
                print(f"  not expected: {line}")
            for line in known[:12]:
                print(f"  known: {line}")
            sys.stdout.flush()
    return failed


def main():
    options = parse()
    arguments.check_build(options)
    failed = 0
    for jdk in arguments.jdks(options):
        setting = Setting(jdk, options.cache.absolute())
        failed += sum(check(options, setting, name) for name in options.only or OBSERVERS)
    sys.exit(1 if failed else 0)
