"""Command-line options that several scripts have."""

from pathlib import Path

from support.errors import Unavailable
from support.jdks import Jdk, default_home
from support.paths import AGENT, DOWNLOADS, JTRAIL


def add_jdks(parser, default="the JDK of JAVA_HOME, or of java on the PATH"):
    """Adds --jdk."""
    parser.add_argument("--jdk", action="append", metavar="HOME", help=f"run in this JVM; repeatable (default: {default})")


def add_build(parser):
    """Adds --agent and --jtrail."""
    parser.add_argument("--agent", type=Path, metavar="LIBRARY", default=AGENT, help="the agent (default: the release build)")
    parser.add_argument("--jtrail", type=Path, metavar="PROGRAM", default=JTRAIL,
                        help="the command line (default: the release build)")


def add_cache(parser):
    """Adds --cache."""
    parser.add_argument("--cache", type=Path, metavar="FOLDER", default=DOWNLOADS,
                        help="where downloads are kept (default: ~/.cache/jtrail/real-programs)")


def jdks(options):
    """The JDKs that --jdk names, or the default one."""
    return [Jdk(home) for home in options.jdk or [default_home()]]


def check_build(options):
    """Makes the paths of the agent and the command line absolute. Ends the script if one of the
    files is missing."""
    for name in ("agent", "jtrail"):
        path = getattr(options, name)
        if not path.is_file():
            raise Unavailable(f"{path} not found: run cargo build --release, or pass --{name}")
        setattr(options, name, path.resolve())
