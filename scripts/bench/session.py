"""What all sections measure with."""

from pathlib import Path

from support import jdks
from support.errors import Unavailable
from support.java import compile_java, expand
from support.paths import RELEASE, TARGET
from support.processes import run

JAVA = Path(__file__).parent / "java"


def agent(options, target=TARGET):
    """The JVM's option that loads the agent of a build."""
    return f"-agentpath:{target / 'release' / 'libjtrail.so'}={options}"


def example(name):
    """The path of an example of one of the crates."""
    return RELEASE / "examples" / name


def floor():
    """The physical floor of an exact hook on this machine: ns for two clock readings and two
    stores."""
    return float(run([example("floor")]))


def write_jfr_settings(path, events):
    """Writes a configuration of JFR: for each event the settings by name."""
    def setting(name, value):
        return f'<setting name="{name}">{value}</setting>'

    def event(name, settings):
        return f'<event name="jdk.{name}">{"".join(setting(*pair) for pair in settings.items())}</event>'

    text = "".join(event(*pair) for pair in events.items())
    path.write_text(f'<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">{text}</configuration>')
    return path


class Session:
    """The options, the JDKs, a scratch folder with the compiled programs, and the rows of the
    table."""

    def __init__(self, args, homes, folder):
        self.args, self.jdks, self.folder = args, homes, folder
        self.classes = folder / "classes"
        self.rows = []

    def add(self, what, limit="", figure="", remark=""):
        """Adds a row to the table."""
        self.rows.append((what, limit, figure, remark))

    def compile(self, names):
        """Compiles programs of the folder `java`. A template (`NAME.java.in`) is expanded first."""
        sources = []
        for name in dict.fromkeys(names):
            source = JAVA / name
            if source.suffix == ".in":
                expanded = self.folder / source.stem
                expanded.write_text(expand(source.read_text()))
                source = expanded
            sources.append(source)
        if sources:
            compiler = jdks.with_tool(self.jdks, "javac")
            if not compiler:
                raise Unavailable("bench: none of the JDKs has javac")
            compile_java(compiler, sources, [], self.classes)

    def java(self, jdk, options, program, *arguments):
        """Runs one of the programs. Returns its standard output."""
        return run([jdk.java, *options, "-cp", self.classes, program, *arguments])
