"""Runs a command, and tells what differs between two runs of it."""

import collections
import hashlib
import re
import subprocess
import time

from support.processes import environment

# The agent's messages about what a format cannot hold, and about methods that would become too long
# to be compiled.
OWN = re.compile(r"jtrail: (\w+: dropped: .*|.* has (hooks for its calls alone|no hooks): .* -XX:-DontCompileHugeMethods has them traced$)")
# 122 of the bits are random.
UUID = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"


class Run:
    """What one run produced: exit code, output, and the hashes of the files that it wrote."""

    def __init__(self, code, stdout, stderr, files, seconds):
        self.code, self.stdout, self.stderr, self.files, self.seconds = code, stdout, stderr, files, seconds

    def text(self):
        """All output as text."""
        return (self.stdout + self.stderr).decode(errors="replace")

    def messages(self):
        """Counts the lines on standard error, without their order and without numbers.

        Threads write at the same time, so the order means nothing. Numbers are times, ports, hashes
        and random ids.
        """
        # Threads set a terminal's colours at the same time, so their order differs.
        lines = re.sub(r"\x1b\[[0-9;]*m", "", self.stderr.decode(errors="replace")).splitlines()
        lines = (line for line in lines if not OWN.match(line))
        # The JVM prints where the agent comes from.
        lines = (re.sub(r"Picked up JAVA_TOOL_OPTIONS: .*", "Picked up JAVA_TOOL_OPTIONS", line) for line in lines)
        lines = (re.sub(rf"{UUID}|0x[0-9a-f]+|@[0-9a-f]+|\d+", "#", line) for line in lines)
        lines = (line for line in lines if line)
        return collections.Counter(re.sub(r"\b(AM|PM)\b|\b[A-Z][a-z]{2} (?=#, #)", "", line) for line in lines)


def run(command, work, out, timeout, variables):
    """Runs a command in the folder `work`, with these variables. The files in the folder `out`
    belong to the result."""
    started = time.monotonic()
    try:
        result = subprocess.run(command, cwd=work, env=environment(**variables), stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=timeout)
        code, stdout, stderr = result.returncode, result.stdout, result.stderr
    except subprocess.TimeoutExpired as late:
        code, stdout, stderr = f"none: killed after {timeout} s", late.stdout or b"", late.stderr or b""
    seconds = time.monotonic() - started
    files = {str(path.relative_to(out)): hashlib.sha256(scrub(path.name, path.read_bytes())).hexdigest()
             for path in sorted(out.rglob("*")) if path.is_file()}
    return Run(code, stdout, stderr, files, seconds)


def scrub(name, data):
    """Removes the parts of a file that differ between any two runs: times, and an order that has no
    meaning."""
    if name.endswith(".si"):
        # A segment of Lucene has the time in milliseconds, and a checksum at the end. The JVM lists
        # some things in a random order, so that two runs rarely agree.
        data = bytes(sorted(re.sub(rb"(timestamp.)\d+", rb"\1", data[:-8], flags=re.S)))
    return data


class Noise:
    """What differs between two plain runs. Such differences are not the agent's doing."""

    def __init__(self, lines=frozenset(), lengths=False, files=frozenset(), names=False, messages=frozenset(), log=None):
        self.lines, self.lengths, self.files, self.names = lines, lengths, files, names
        # `log`: all lines that either plain run has on standard error, if that is a server's log.
        self.messages, self.log = messages, log

    @classmethod
    def between(cls, a, b, has_log=False):
        """The differences of two plain runs."""
        left, right = a.stdout.splitlines(), b.stdout.splitlines()
        lines = {i for i, (x, y) in enumerate(zip(left, right)) if x != y}
        files = {name for name in a.files if name in b.files and a.files[name] != b.files[name]}
        x, y = a.messages(), b.messages()
        messages = {line for line in x | y if x[line] != y[line]}
        return cls(lines, len(left) != len(right), files, set(a.files) != set(b.files), messages,
                   set(x | y) if has_log else None)


def differences(plain, other, noise):
    """Lists what differs between a plain run and another one, apart from noise."""
    found = []
    if plain.code != other.code:
        found.append(f"exit {other.code} instead of {plain.code}")
    left, right = plain.stdout.splitlines(), other.stdout.splitlines()
    if len(left) != len(right) and not noise.lengths:
        found.append(f"{len(right)} lines of output instead of {len(left)}")
    for i, (x, y) in enumerate(zip(left, right)):
        if x != y and i not in noise.lines and not noise.lengths:
            found.append(f"output line {i + 1}: {y[:80]!r} instead of {x[:80]!r}")
            break
    if set(plain.files) != set(other.files) and not noise.names:
        changed = sorted(set(plain.files) ^ set(other.files))
        found.append(f"other files: {' '.join(changed[:5])}")
    changed = [name for name in plain.files if name in other.files
               and plain.files[name] != other.files[name] and name not in noise.files]
    if changed:
        found.append(f"{len(changed)} files differ: {' '.join(changed[:5])}")
    x, y = plain.messages(), other.messages()
    if noise.log is not None:
        # Any run loses some lines of a server's log when the server starts and stops, and others
        # each time. So lines may be missing, but no new one may be a warning, an error or part of a
        # stack trace.
        x, y = collections.Counter(), collections.Counter(line for line in y.keys() - noise.log if " INFO " not in line)
    for line in sorted(line for line in x | y if x[line] != y[line] and line not in noise.messages)[:3]:
        found.append(f"on standard error {y[line]} times instead of {x[line]}: {line[:120]!r}")
    return found
