"""One run of scripts/stress: the program with the agent, and commands beside it."""

import collections
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time

from endurance.stress.expectations import FORCED, FORCED_COUNT, commands, missing
from support import jdks, pages
from support.java import harness_class_path
from support.processes import environment
from support.tables import scaled
from support.traces import TraceReader

EVENTS = "events=all,interval=5ms,allocsites=true,format=binary"
# As the JVM's options have them.
COLLECTORS = {"serial": "Serial", "parallel": "Parallel", "g1": "G1", "z": "Z", "shenandoah": "Shenandoah"}
# How many seconds longer than `options.seconds` a run may take: to start, to finish its last
# actions, to take the last snapshot.
GRACE = 180


class Disturber(threading.Thread):
    """Sends commands to the JVM and the agent, in random order, until `over` is set.

    `commands` maps a name to a command line, and to how often it occurs in each shuffled round. If
    a file `socket` is given, the commands begin when it exists. Then the first one forces a
    collection, so that short runs have one.
    """

    def __init__(self, commands, seed, pause, socket=None):
        super().__init__(daemon=True)
        self.commands, self.pause, self.socket = commands, pause, socket
        self.random = random.Random(seed)
        self.over = threading.Event()
        self.done, self.failed, self.errors = collections.Counter(), collections.Counter(), {}
        self.running = None

    def run(self):
        while self.socket and not self.socket.exists() and not self.over.wait(0.05):
            pass
        deck = [FORCED] if self.socket else []
        while not self.over.wait(self.random.uniform(0, 2 * self.pause)):
            if not deck:
                deck = [name for name, (_, count) in self.commands.items() for _ in range(count)]
                self.random.shuffle(deck)
            self.running = deck.pop()
            try:
                done = subprocess.run(self.commands[self.running][0], timeout=GRACE,
                                      stdin=subprocess.DEVNULL, capture_output=True)
                # A JVM that starts or ends does not answer.
                (self.done if done.returncode == 0 else self.failed)[self.running] += 1
                if done.returncode != 0:
                    self.errors[self.running] = (done.stdout + done.stderr).decode(errors="replace").strip()
            except subprocess.TimeoutExpired:
                self.failed[f"{self.running} (no answer)"] += 1
            self.running = None


def java(jdk, options, seconds, *jvm_options):
    """The command of the program that does everything at random for this long."""
    collector = ["-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{COLLECTORS[options.gc]}GC"] if options.gc else []
    class_path = harness_class_path(jdk, options.harness or options.agent.parent / "harness")
    return [str(word) for word in (jdk.java, *jdk.verify, *collector, *options.jvm, *jvm_options, "-cp", class_path,
                                   "harness.Everything", seconds, options.size, options.threads, options.seed,
                                   options.pause)]


def print_stacks(process):
    """Shows where a JVM hangs: Java's stacks on its standard output, and those of all threads
    here, if there is gdb."""
    process.send_signal(3)
    time.sleep(3)
    if shutil.which("gdb"):
        command = ["gdb", "-batch", "-p", str(process.pid), "-ex", "thread apply all bt 30"]
        text = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
        print(text, file=sys.stderr)


def without_notes(errors):
    """Removes what the agent may say of virtual threads that were being created when a snapshot
    was taken."""
    note = rb"(?m)^jtrail: snapshot \d+ of the heap leaves out what virtual threads refer to that were being made: \d+\n"
    return re.sub(note, b"", errors)


def check(jdk, options, heap, scratch):
    """Runs the program once, with snapshots at the moments `heap`. Returns what is wrong, and a row
    of the table."""
    plain = subprocess.run(java(jdk, options, 1), cwd=scratch, env=environment(), capture_output=True, timeout=GRACE)
    if plain.returncode != 0:
        text = plain.stdout + plain.stderr
        return [f"fails without the agent too: exit {plain.returncode}\n{text.decode(errors='replace')}"], None

    wrong = []
    reader = TraceReader(scratch / "trace.fifo", options.jtrail)
    socket = scratch / "control"
    channel = f"server=enabled,control={socket}," if "forced" in heap else ""
    more = f"{options.options}," if options.options else ""
    text = f"-agentpath:{options.agent}={EVENTS},heap={'+'.join(heap)},{channel}{more}file={reader.path}"
    started = time.monotonic()
    with open(scratch / "stdout", "wb") as out, open(scratch / "stderr", "wb") as err:
        process = subprocess.Popen(java(jdk, options, options.seconds, text), cwd=scratch, env=environment(),
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        jcmd = [str(jdks.jcmd(jdk)), str(process.pid)]
        command = {name: ([*jcmd, name], count) for name, count in commands(heap).items()}
        if FORCED in command:
            command[FORCED] = [str(options.jtrail), "ctl", str(socket), "gc"], FORCED_COUNT
        disturber = Disturber(command, options.seed, options.every, socket if channel else None)
        disturber.start()
        try:
            process.wait(options.seconds + GRACE)
        except subprocess.TimeoutExpired:
            wrong.append(f"hangs: killed after {options.seconds + GRACE} s; running: {disturber.running}")
            print_stacks(process)
            process.kill()
            process.wait()
    elapsed = time.monotonic() - started
    disturber.over.set()
    disturber.join(GRACE)
    verdict = reader.finish()
    wrong += program_problems(plain, process.returncode, scratch)
    wrong += trace_problems(verdict)
    wrong += missing(jdk, options.seconds, heap, disturber.done, verdict.kinds, options.gc)
    wrong += [command for command in disturber.failed if "no answer" in command]
    report(jdk, elapsed, verdict, disturber)
    figures = [f"{elapsed:.0f}", f"{verdict.events or 0:,}", f"{verdict.bytes / 1e6:,.0f}",
               str(verdict.totals.get("lost", "-")), str(sum(disturber.done.values()))]
    return wrong, [str(jdk.feature), COLLECTORS.get(options.gc, "the JVM's own choice"), "+".join(heap), *figures,
                   pages.verdict(wrong, "as without")]


def program_problems(plain, code, scratch):
    """What is wrong with the program that was traced, beside a plain run."""
    wrong = [f"exit {code}"] if code != 0 else []
    stdout, stderr = (scratch / "stdout").read_bytes(), without_notes((scratch / "stderr").read_bytes())
    # jcmd prints the answer to Thread.print, so the program's output has none of it.
    for name, expected, found in (("output", plain.stdout, stdout), ("errors", plain.stderr, stderr)):
        if expected != found:
            wrong.append(f"{name}: {found.decode(errors='replace')[-2000:]}\ninstead of\n{expected.decode(errors='replace')}")
    if list(scratch.glob("hs_err*")) + list(scratch.glob("core*")):
        wrong.append("the JVM crashed")
    return wrong


def trace_problems(verdict):
    """What is wrong with the trace."""
    wrong = [f"jtrail verify: exit {verdict.code}\n{verdict.output.strip()}"] if verdict.code != 0 else []
    if "lost" not in verdict.totals:
        wrong.append("no totals in the trace")
    elif verdict.totals["lost"]:
        wrong.append(f"{verdict.totals['lost']} events lost")
    return wrong


def report(jdk, elapsed, verdict, disturber):
    """Prints the figures of a run."""
    print(f"Java {jdk.feature}: {elapsed:.0f} s, {scaled(verdict.bytes)} bytes "
          f"({verdict.bytes / elapsed / 1e6:.1f} MB/s), {verdict.events or 0:,} events")
    print("  totals " + " ".join(f"{key}={value}" for key, value in verdict.totals.items()))
    answered = ", ".join(f"{name} {count}" for name, count in sorted(disturber.done.items()))
    failed = "".join(f"; {name} failed {count}" for name, count in disturber.failed.items())
    print(f"  {verdict.kinds['HeapDump']} snapshots; answered: {answered}{failed}")
    for name, error in disturber.errors.items():
        print(f"  {name}: {' '.join(error.splitlines()[:2])}")
