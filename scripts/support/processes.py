"""Runs programs."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from support.errors import Unavailable, complaint

# Variables that add options or classes to every JVM.
JVM_VARIABLES = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH")


def environment(**more):
    """The environment of this process, without the variables that change JVMs, and with `more`."""
    return {name: value for name, value in os.environ.items() if name not in JVM_VARIABLES} | more


def run(command, **options):
    """Returns a command's standard output. Ends the script, with all output, if the command
    fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def require(command, problem, **options):
    """Returns a command's standard output. Raises Unavailable, with the problem in a line, if
    the command fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    except FileNotFoundError as missing:
        raise Unavailable(f"{problem}: {command[0]} is not installed") from missing
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"{problem} in {late.timeout:.0f} s") from late
    if done.returncode != 0:
        raise Unavailable(f"{problem}: {complaint(done.stdout + done.stderr)}")
    return done.stdout


def cpu_of_children():
    """CPU seconds of all child processes that have ended."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def resident_bytes(pid):
    """The memory that a process has in RAM."""
    pages = (Path("/proc") / str(pid) / "statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


class Conversation:
    """A program that reads commands from standard input and answers on standard output, a line
    each."""

    def __init__(self, name, command, **options):
        self.name = name
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, **options)
        self.pid = str(self.process.pid)

    def send(self, line):
        """Writes a line to the program."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for(self, prefix):
        """Returns the next line that begins with the prefix, without its line end. Ends the
        script if there is none."""
        for line in self.process.stdout:
            if line.startswith(prefix):
                return line.rstrip("\n")
        sys.exit(f"{self.name}: the program ended before it printed {prefix}{self.errors()}")

    def errors(self):
        """What the program wrote to standard error. Empty unless a subclass reads it."""
        return ""

    def ask(self, line, prefix):
        """Sends a line and returns the answer, which begins with the prefix."""
        self.send(line)
        return self.wait_for(prefix)

    def finish(self, timeout=60):
        """Closes the program's input. Returns what the program printed until its end, and its
        exit code."""
        self.process.stdin.close()
        with self.process.stdout as output:
            rest = output.read()
        return rest, self.process.wait(timeout)
