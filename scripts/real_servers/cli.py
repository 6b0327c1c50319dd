"""Attaches to real servers under load, records, and leaves again, while they answer requests.

Two processes of each server run: one is left alone, and the agent visits the other one. Both are
under load in the same windows of time, so that other work of the machine shows in both. The agent
attaches, records and detaches while requests come in. No answer may be wrong or missing, the traces
must be sound and complete, and the servers must print no errors. The throughput of the visited
server is printed as a share of the other one's: before, during and after the visit, each as the
geometric mean of its windows, and what is left of it after the visit.

The two servers share the processors, and the system decides which one gets more of them in a
window. So the answers per second of processor time count; those per second of wall-clock time are
printed as well. The speed of a process also depends on what the JVM's compilers made of it, which
differs between processes and after each visit. So several pairs of processes run, and the geometric
mean of what each kept counts.

Retransformed classes cost a program something for good, whoever retransforms them: HotSpot links
their lambdas again, to further classes, so that code which knew one class knows several; and
methods that are running then are interpreted to their end. So if less than --least is kept, as many
pairs run again, and all of them count. If that is still too little, the run has failed. As many
pairs with a Java agent (Again), which retransforms the same classes twice without a change, then
show how much of it is the JVM's doing; they excuse nothing. With --control there is no jtrail at
all.

Programs come from Maven Central by mvn and are kept in a cache, as for scripts/real-programs. Exits
with 1 if anything is wrong.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from real_servers.pairs import Pairs, Visit
from real_servers.server import SERVERS
from support import arguments, downloads, servers
from support.java import compile_java

DEFAULT = ["tomcat", "h2"]


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    arguments.add_cache(parser)
    parser.add_argument("--events", default="methods+threads+gc+monitors", help="what is recorded (default: %(default)s)")
    parser.add_argument("--record", type=float, default=8, metavar="SECONDS", help="time to record (default: %(default)s)")
    parser.add_argument("--window", type=float, default=1, metavar="SECONDS", help="length of a window (default: %(default)s)")
    parser.add_argument("--windows", type=int, default=16, metavar="N", help="windows of each phase (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="pairs of processes (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=15, metavar="SECONDS", help="(default: %(default)s)")
    parser.add_argument("--least", type=float, metavar="PERCENT",
                        help="of the throughput from before that must be left after the agent's visit (default: 98; "
                             "with --quick or --control nothing is asked for)")
    parser.add_argument("--control", action="store_true",
                        help="without jtrail: a Java agent retransforms the same classes and changes nothing")
    parser.add_argument("--quick", action="store_true", help="a short check, whose rates mean little")
    parser.add_argument("servers", nargs="*", choices=[[], *SERVERS],
                        help=f"(default: {' '.join(DEFAULT)}); tomcat-lambdas has no database, and its pages are sorted "
                             "by lambdas that each request creates")
    options = parser.parse_args()
    if options.quick:
        options.record, options.window, options.windows, options.warm_up, options.pairs = 2, 0.5, 2, 1, 1
    elif options.least is None and not options.control:
        options.least = 98
    options.least = options.least and options.least / 100
    return options


def check(options, jdk, name, class_path, folder):
    """Runs one server in one JVM. Prints a line or two, and returns what was wrong."""
    def pairs(control):
        def visit(number):
            where = folder / f"{jdk.feature}-{name}-{'control-' if control else ''}{number}"
            return Visit(options, jdk, name, class_path, where, control)
        return Pairs(visit, f"{name:16}{jdk.feature:>3}" + (" control" if control else ""))

    ours = pairs(options.control)
    ours.run(options.pairs)
    if not ours.found.is_enough(options.least):
        ours.run(2 * options.pairs)
    ours.print()
    problems = ours.problems()
    if problem := ours.found.problem(options.least):
        problems.append(problem)
        control = pairs(True)
        control.run(len(ours.visits))
        control.print()
        problems += control.problems()
    return [f"{name} on {jdk.version}: {problem}" for problem in problems]


def main():
    options = parse()
    if not options.control:
        arguments.check_build(options)
    cache = options.cache.resolve() / "servers"
    jars = sorted(downloads.fetch(cache, servers.ARTIFACTS).glob("*.jar"))
    homes = arguments.jdks(options)
    compile_java(homes[0], servers.SOURCES, jars, cache / "classes")
    problems = []
    with tempfile.TemporaryDirectory(prefix="jtrail-servers-") as folder:
        for jdk in homes:
            for name in options.servers or DEFAULT:
                problems += check(options, jdk, name, [cache / "classes", *jars], Path(folder))
    for problem in problems:
        print(f"real-servers: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)
