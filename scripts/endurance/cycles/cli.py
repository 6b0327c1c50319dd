"""Attaches and detaches a thousand agents in one JVM, then starts and stops a thousand traces: does
anything grow?

With `--parts soak`, twenty minutes of all sorts of commands to one agent.

harness.Cycles works all the time, on threads that the agent finds in the middle of methods. In the
first part, `attach` and `ctl detach` alternate, in the second one `ctl start` and `ctl stop`. In a
cycle of the soak, a trace starts, the program loads classes, calls them and drops them, the trace
continues in another file (`ctl rotate`), is paused and resumed, gets a mark, and stops. Every 20
cycles, or every 30 seconds of the soak, the JVM collects its garbage and says what it uses:
metaspace, code cache, heap. The system says how many threads, descriptors and mappings the process
has, and how much memory. Blocks of metaspace that the JVM has freed and keeps in lists are not
counted.

The soak does not count what the JVM says to have allocated for itself (`VM.native_memory`) either,
as it keeps a lock for each class that is retransformed. That has a column of its own, `jvm`, and so
has what the agent says to have allocated, `agent`. `--parts alone` is the soak without jtrail: the
program loads the same classes, and a Java agent retransforms all of them at the start and at the
end of each cycle. Its curve is there to be compared, and has no bounds.

Some JVMs lose metaspace each time a class is retransformed, whoever does it. With such a JVM, if
the bounds are narrow enough to show it (1000 cycles), a run without jtrail comes first: a Java
agent (harness.Again) retransforms the same classes, twice in each cycle, and changes nothing;
nothing is compiled. What that loses is allowed on top. `--parts jvm` does it with any JVM, and
alone.

Both parts run twice. Interpreted, all that stays shows, to the byte. Compiled, the JVM compiles
further methods for thousands of cycles, and throws code away now and then, and with it old methods.
So the figures go up and down, and the least of the last quarter of a part is compared with the
least of the second quarter; in a run of few cycles, the halves are compared, without the first
look. Exits with 1 if that is more by more than endurance/cycles/bounds.py allows, or if a command
fails, the program fails, or the last trace is not sound.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from endurance.cycles.bounds import LONG_RUN, LOSE, MODES
from endurance.cycles.program import ProgramWithoutJtrail
from endurance.cycles.session import Session, lost_by_the_jvm, soak
from support import arguments

PARTS = ("jvm", "agents", "traces", "alone", "soak")


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    parser.add_argument("--cycles", type=int, default=1000, metavar="N", help="of each part (default: %(default)s)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["agents", "traces"], help="(default: agents traces)")
    parser.add_argument("--minutes", type=float, default=20, help="of the soak (default: %(default)s)")
    parser.add_argument("--events", default="methods+threads", help="what is recorded (default: %(default)s)")
    parser.add_argument("--options", nargs="*", default=[], help="more options of jtrail attach")
    parser.add_argument("--jvm", action="append", default=[], metavar="OPTION",
                        help="an option of the JVM, such as --jvm=-XX:+UseZGC; repeatable")
    return parser.parse_args()


def check(jdk, options, scratch):
    """Runs the chosen parts. Returns what is wrong."""
    wrong = []
    allowed = 0
    if "jvm" in options.parts or (jdk.feature in LOSE and options.cycles >= LONG_RUN):
        allowed = lost_by_the_jvm(jdk, options, scratch)
    for mode in MODES if {"agents", "traces"} & set(options.parts) else []:
        session = Session(jdk, options, scratch, mode, allowed)
        if "agents" in options.parts:
            session.run("agents", session.attach_and_detach)
            session.jtrail("verify", session.trace)
        if "traces" in options.parts:
            session.with_agent(lambda: session.run("traces", session.start_and_stop))
        wrong += session.end()
    if "alone" in options.parts:
        program = ProgramWithoutJtrail(jdk, options, scratch, "compiled", accounts=True)
        soak(program, round(options.minutes * 60), program.soak_cycle)
        program.end()
    if "soak" in options.parts:
        session = Session(jdk, options, scratch, "compiled", allowed, accounts=True)
        session.with_agent(session.soak)
        wrong += session.end()
    return wrong


def main():
    options = parse()
    arguments.check_build(options)
    failed = False
    for jdk in arguments.jdks(options):
        print(f"Java {jdk.feature}", flush=True)
        with tempfile.TemporaryDirectory(prefix="jtrail-cycles-") as scratch:
            wrong = check(jdk, options, Path(scratch))
        for text in wrong:
            print(f"Java {jdk.feature}: {text}")
        failed |= bool(wrong)
        print(f"Java {jdk.feature}: {'grows' if wrong else 'ok'}", flush=True)
    sys.exit(1 if failed else 0)
