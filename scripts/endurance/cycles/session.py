"""Cycles of agents and traces in a program, and what grows by them."""

import json
import subprocess
import time

from endurance.cycles.bounds import KEYS, MODES, grown, lost
from endurance.cycles.program import Program, ProgramWithoutJtrail
from endurance.growth import looks
from support.errors import Unavailable


def part(name, program, cycles, cycle):
    """Runs this many cycles. Returns the figures of all measurements, and prints them."""
    print(f"  {name}: " + " ".join(f"{key:>11}" for key in KEYS), flush=True)
    began = time.monotonic()
    seen = []
    count = looks(cycles)
    for look in range(count):
        done = cycles * (look + 1) // count
        for _ in range(done - cycles * look // count):
            cycle()
        program.wait_until_idle()
        seen.append(program.figures())
        print(f"  {done:>{len(name)}}: " + " ".join(f"{seen[-1][key]:>11,}" for key in KEYS), flush=True)
    print(f"  {(time.monotonic() - began) / cycles * 1000:.0f} ms for each", flush=True)
    return seen


def soak(program, seconds, cycle, memory=lambda: 0):
    """Runs cycles for this long. Returns the figures of all measurements, which it prints, and the
    number of cycles.

    `memory` returns what the agent has allocated.
    """
    keys = [*KEYS, "agent", "jvm"]
    print("  minutes  cycles: " + " ".join(f"{key:>11}" for key in keys), flush=True)
    began = time.monotonic()
    seen, done = [], 0
    count = max(8, seconds // 30)
    for look in range(count):
        while time.monotonic() - began < seconds * (look + 1) / count:
            cycle()
            done += 1
        seen.append(program.figures() | {"agent": memory()})
        minutes = (time.monotonic() - began) / 60
        print(f"  {minutes:>7.1f} {done:>7,}: " + " ".join(f"{seen[-1][key]:>11,}" for key in keys), flush=True)
    return seen, done


def lost_by_the_jvm(jdk, options, scratch):
    """Bytes of metaspace that the JVM loses in each cycle without jtrail."""
    program = ProgramWithoutJtrail(jdk, options, scratch, "interpreted")
    seen = part("jvm", program, options.cycles, program.retransform_twice)
    program.end()
    found = lost(seen, options.cycles)
    print(f"  without jtrail, the JVM loses {found:,.0f} bytes of metaspace in each cycle", flush=True)
    return found


class Session:
    """A program, what agents do in it, and what is wrong. `allowed`: bytes of metaspace that the
    JVM itself loses in a cycle."""

    def __init__(self, jdk, options, scratch, mode, allowed, accounts=False):
        self.options, self.mode, self.allowed = options, mode, allowed
        self.trace, self.second, self.socket = (scratch / name for name in ("trace", "second", "socket"))
        self.program = Program(jdk, options, MODES[mode], accounts)
        self.wrong = []

    def jtrail(self, *words):
        """Returns the output of a command of jtrail. Ends the script if it fails."""
        done = subprocess.run([str(self.options.jtrail), *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            self.program.process.kill()
            raise Unavailable(f"cycles: jtrail {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def ctl(self, *words):
        return self.jtrail("ctl", self.socket, *words)

    def memory(self):
        """Bytes that the agent has allocated."""
        return json.loads(self.ctl("--json", "status"))["memory"]

    def attach(self):
        self.jtrail("attach", self.program.pid, "--agent", self.options.agent, "--file", self.trace,
                    "--events", self.options.events, "--exclude", "harness.Expect*", "--control", self.socket,
                    "--server", "enabled", "--buffer", "4m", *self.options.options)

    def attach_and_detach(self):
        self.attach()
        self.ctl("detach")

    def start_and_stop(self):
        self.ctl("start", f"file={self.trace}")
        self.ctl("stop")

    def soak_cycle(self):
        """A trace that starts, has classes loaded, continues in another file, is paused, resumed
        and marked, and stops."""
        self.ctl("start", f"file={self.trace}")
        self.program.command("classes")
        for words in (["rotate", self.second], ["pause"], ["resume"], ["mark", "soak"], ["stop"]):
            self.ctl(*words)

    def with_agent(self, do):
        """Does something while one agent is attached, which records nothing at first."""
        self.attach()
        self.program.has_agent = True
        self.ctl("stop")
        do()
        self.jtrail("verify", self.trace)
        self.ctl("detach")
        self.program.has_agent = False

    def run(self, name, cycle):
        """Runs all cycles. If something grows, all cycles run again, and only what grows then is
        wrong: a busy machine compiles the program's methods late, but once."""
        wrong = self.run_once(name, cycle)
        if wrong:
            print(*wrong, sep="\n", flush=True)
            wrong = self.run_once(f"{name} again", cycle)
        self.wrong += wrong

    def run_once(self, name, cycle):
        cycles = self.options.cycles
        return self.grown(name, part(f"{name}, {self.mode}", self.program, cycles, cycle), cycles)

    def grown(self, name, seen, cycles):
        return [f"{name}, {self.mode}: {text}" for text in grown(seen, cycles, self.mode, self.allowed)]

    def soak(self):
        seen, done = soak(self.program, round(self.options.minutes * 60), self.soak_cycle, self.memory)
        self.wrong += self.grown("soak", seen, done)
        self.jtrail("verify", self.second)

    def end(self):
        """Ends the program. Returns what is wrong."""
        if not self.program.end():
            self.wrong.append(f"{self.mode}: the program failed")
        return self.wrong
