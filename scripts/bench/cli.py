"""Measures what jtrail costs, beside what it is compared with, in one run.

    python3 scripts/bench [--jdk HOME]... [--rounds N] [--calls N] [--only SECTION]...
    python3 scripts/bench --only trail [--before CHECKOUT] [--rounds N]
    python3 scripts/bench --only peers [--work NAME]... [--tracer NAME]... [--json FILE] [--markdown PAGE] [--quick]

Prints a table. Runs of the things that are compared take turns; the least of them counts for time,
the largest for memory. Its sections:

SECTIONS

`work` and `peers` have tables of their own. Without --only, all sections but `work` run, as `peers`
has all of it.

The exit code is 1 if a codec, the writer, a conversion or a method of nearly 8,000 bytes misses its
bound (FAIL in the table). Needs cargo, a JDK, and an otherwise quiet machine.
"""

import argparse
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.comparing.others import TRACERS
from bench.comparing.works import WORKS
from bench.session import Session
from support import jdks
from support.errors import Unavailable
from support.paths import ROOT
from support.tables import aligned

SECTIONS = ("hook", "writer", "start-up", "memory", "formats", "rewriter", "objects", "events", "jvm", "overhead", "huge",
            "convert", "exports", "distortion", "trail", "work", "peers")


def module(section):
    """The module of a section.

    It has `measure(session)`; `JAVA`, the programs of the folder `java` that it runs, or None if it
    needs no JDK; and `EXAMPLES`, pairs of a crate and its example that it runs beside the agent and
    the command line.
    """
    return importlib.import_module(f"bench.{section.replace('-', '_')}")


def description():
    """The text of --help: each section with the first sentence of its module."""
    def line(section):
        return f"  {section:12}{module(section).__doc__.splitlines()[0]}"
    return __doc__.replace("SECTIONS", "\n".join(map(line, SECTIONS)))


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python3 scripts/bench", usage="%(prog)s [options]", description=description(),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jdk", action="append", metavar="HOME", type=jdks.Jdk,
                        help="measure in this JVM; repeatable (default: all that are found)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="runs of each thing (default: %(default)s); with 0, work and peers only show what the file "
                             "of --json has")
    parser.add_argument("--calls", type=int, default=100_000_000, metavar="N", help="events of a conversion or an export (default: 100 million)")
    parser.add_argument("--only", action="append", choices=SECTIONS, metavar="SECTION", help="measure this section; repeatable")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT",
                        help="of trail: the build of another checkout takes turns with this one")
    compare = parser.add_argument_group("of work and peers")
    compare.add_argument("--work", action="append", choices=WORKS, metavar="NAME",
                         help=f"only this work; repeatable: {' '.join(WORKS)}")
    compare.add_argument("--tracer", action="append", choices=TRACERS, metavar="NAME",
                         help=f"only this tracer, and bare; repeatable: {'; '.join(TRACERS)}")
    compare.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="of a run (default: %(default)s)")
    compare.add_argument("--quick", action="store_true",
                         help="little work, one round, to see that everything runs (also of trail)")
    compare.add_argument("--json", type=Path, metavar="FILE",
                         help="add the runs to this file; the tables are of all that it has")
    compare.add_argument("--markdown", type=Path, metavar="PAGE", help="put the tables into this page, between its marks")
    return parser.parse_args()


def build(modules):
    """Builds the agent, the command line, and the examples that these modules run."""
    needs_jdk = any(module.JAVA is not None for module in modules)
    # Without a JVM the agent is not needed.
    commands = [[] if needs_jdk else ["-p", "jtrail-cli"]]
    examples = dict.fromkeys(example for module in modules for example in module.EXAMPLES)
    commands += [["-p", f"jtrail-{crate}", "--example", example] for crate, example in examples]
    for words in commands:
        subprocess.run(["cargo", "build", "--release", "--quiet", *words], check=True, cwd=ROOT)


def main():
    args = parse()
    sections = args.only or [section for section in SECTIONS if section != "work"]
    modules = [module(section) for section in sections]
    homes = args.jdk or jdks.installed()
    if not homes and any(module.JAVA is not None for module in modules):
        raise Unavailable("bench: no JDK found: set JAVA_HOME or pass --jdk")
    build(modules)
    with tempfile.TemporaryDirectory(prefix="jtrail-bench-") as folder:
        session = Session(args, homes, Path(folder))
        session.compile(name for module in modules for name in module.JAVA or ())
        for section, module_ in zip(sections, modules):
            print(f"measuring: {section}", file=sys.stderr)
            module_.measure(session)
    if session.rows:
        print(*aligned(session.rows), sep="\n")
    failed = sum(cell.rstrip().endswith("FAIL") for row in session.rows for cell in row)
    if failed:
        sys.exit(f"{failed} FAIL")
