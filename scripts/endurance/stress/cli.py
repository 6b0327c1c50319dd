"""Records all kinds of events at once, for long, while other tools send commands to the JVM.

harness.Everything starts and stops threads, loads and drops classes, waits, parks, throws and
collects at random. It runs once plain, and for --seconds with the agent, which records all that it
can. Beside it jcmd commands run, in random order, snapshots of the heap among them; with --heap
forced also commands to the agent, to collect garbage between two snapshots. The program must
succeed and print what it prints without the agent. The trace, which goes through a named pipe
straight to `jtrail verify -`, must be sound and complete. No JVM may crash or hang. And the run
must have been hard enough: jcmd was answered, and the trace has events of every kind, and all
snapshots that were asked for.

The same seed gives the program and the choice of commands the same random numbers; how threads
interleave differs each time. Exits with 1 if anything is wrong, and says where the files are.
"""

import argparse
import itertools
import shutil
import sys
import tempfile
from pathlib import Path

from endurance.stress.expectations import MOMENTS
from endurance.stress.run import COLLECTORS, check
from support import arguments, pages

COLUMNS = ["JDK", "Collector", "Snapshots", "Time, s", "Events", "Trace, MB", "Lost", "Commands answered", "Verdict"]
FIGURES = pages.marks("figures of stress", "stress")


def moments(text):
    found = text.split("+")
    if not set(found) <= set(MOMENTS):
        raise argparse.ArgumentTypeError(f"moments are {', '.join(MOMENTS)}, joined with +")
    return found


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    parser.add_argument("--harness", type=Path, metavar="FOLDER", help="the test programs (default: beside the agent)")
    parser.add_argument("--seconds", type=int, default=600, help="of each run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=8,
                        help="platform threads, and as many virtual ones (default: %(default)s)")
    parser.add_argument("--size", type=int, default=30,
                        help="actions of each thread that are added up (default: %(default)s)")
    parser.add_argument("--pause", type=int, default=100, metavar="MS",
                        help="after each action, which keeps the trace small (default: %(default)s)")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS",
                        help="between two jcmd commands, on average (default: %(default)s)")
    parser.add_argument("--gc", choices=COLLECTORS, help="the collector (default: the JVM's choice)")
    parser.add_argument("--heap", action="append", type=moments, metavar="MOMENTS",
                        help="when snapshots are taken, as in the agent's option; repeatable: the JVMs take them in turn "
                             "(default: request+exit, then all moments)")
    parser.add_argument("--jvm", action="append", default=[], metavar="OPTION",
                        help="an option of the JVM, such as --jvm=-Xmx1g; repeatable")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="put the runs into this page's table")
    parser.add_argument("--options", default="", help="more options for the agent")
    return parser.parse_args()


def main():
    options = parse()
    arguments.check_build(options)
    failed, rows = False, []
    heaps = options.heap or [["request", "exit"], list(MOMENTS)]
    for jdk, heap in zip(arguments.jdks(options), itertools.cycle(heaps)):
        scratch = Path(tempfile.mkdtemp(prefix="jtrail-stress-")).resolve()
        wrong, row = check(jdk, options, heap, scratch)
        rows += [row] if row else []
        for text in wrong:
            print(f"Java {jdk.feature}: {text}")
        if wrong:
            failed = True
            print(f"Java {jdk.feature}: see {scratch}", flush=True)
        else:
            print(f"Java {jdk.feature}: ok", flush=True)
            shutil.rmtree(scratch)
    if options.markdown and rows:
        pages.merge(options.markdown, FIGURES, COLUMNS, rows)
    sys.exit(1 if failed else 0)
