"""The program that agents visit, and what it uses."""

import os
import re
import subprocess
import time
from pathlib import Path

from endurance.cycles.bounds import MODES, allocated
from support import jdks
from support.errors import Unavailable
from support.java import harness_beside, harness_class_path, write_agent_jar
from support.processes import Conversation, resident_bytes

# The heap keeps its size. The code cache is small, so that the JVM often looks for code to discard.
# With the usual size, 11 discards old code only after some 2,000 agents, and only then the old
# methods in the metaspace.
SIZES = ["-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", "-XX:ReservedCodeCacheSize=20m"]


class Program(Conversation):
    """harness.Cycles in a JVM.

    `accounts`: the JVM keeps account of what it allocates for itself, and the figures of memory
    exclude that.
    """

    def __init__(self, jdk, options, jvm=(), accounts=False):
        self.jdk, self.accounts = jdk, accounts
        self.has_agent = False
        jvm = [*jvm, *(["-XX:NativeMemoryTracking=summary"] if accounts else [])]
        class_path = harness_class_path(jdk, harness_beside(options.agent))
        super().__init__("cycles", [jdk.java, *SIZES, *options.jvm, *jvm, "-cp", class_path, "harness.Cycles"],
                         stderr=subprocess.DEVNULL)
        self.wait_for("[ready]")

    def command(self, word):
        """Has the program do something. Returns its answer."""
        return self.ask(word, "[" + word)

    def wait_until_idle(self):
        """Waits for the threads of an agent that has just been detached."""
        end = time.monotonic() + 10
        while not self.has_agent and self.agent_threads():
            if time.monotonic() > end:
                raise Unavailable(f"cycles: the agent does not leave: {self.agent_threads()}")
            time.sleep(0.01)

    def agent_threads(self):
        """The names of the agent's threads."""
        found = set()
        for task in (Path("/proc") / self.pid / "task").iterdir():
            try:
                name = (task / "comm").read_text().strip()
            except OSError:
                continue  # the thread has ended
            if name.startswith("jtrail"):
                found.add(name)
        return found

    def figures(self):
        """Has the JVM collect garbage. Returns what the process uses after that."""
        words = self.command("figures").split()
        figures = {key: int(value) for key, value in (word.split("=") for word in words if "=" in word)}
        del figures["classes"]  # each new version of a class adds to it for good
        figures["metaspace"] -= self.freed_metaspace()
        proc = Path("/proc") / self.pid
        figures["threads"] = len(os.listdir(proc / "task"))
        figures["fds"] = len(os.listdir(proc / "fd"))
        figures["maps"] = len((proc / "maps").read_text().splitlines())
        figures["rss"] = resident_bytes(self.pid)
        if self.accounts:
            figures["jvm"] = allocated(self.jcmd("VM.native_memory", "summary", "scale=KB"))
            figures["rss"] -= figures["jvm"]
        return figures

    def jcmd(self, *words):
        """Returns the output of a command to the JVM."""
        done = subprocess.run([jdks.jcmd(self.jdk), self.pid, *words], capture_output=True, text=True)
        return done.stdout + done.stderr

    def freed_metaspace(self):
        """Bytes of metaspace that the JVM has freed and keeps in lists of blocks. Its own figure
        counts them as used."""
        output = self.jcmd("VM.metaspace", "scale=1")
        total = re.search(r"^Total Usage.*?^Virtual space", output, re.M | re.S)
        freed = re.search(r"^ *Both:.*deallocated: +\d+ blocks with +(\d+)", total[0], re.M) if total else None
        if not freed:
            raise Unavailable(f"cycles: jcmd VM.metaspace: {output}")
        return int(freed[1])

    def end(self):
        """Ends the program. Returns True if it ended well."""
        rest, code = self.finish()
        return "[sound]" in rest and code == 0


class ProgramWithoutJtrail(Program):
    """The same program with a Java agent (harness.Again), which has the JVM retransform classes
    and changes nothing."""

    def __init__(self, jdk, options, scratch, mode, accounts=False):
        jar = scratch / "again.jar"
        write_agent_jar(jar, Premain_Class="harness.Again", Can_Retransform_Classes="true")
        super().__init__(jdk, options, [f"-javaagent:{jar}", *MODES[mode]], accounts)

    def retransform(self):
        if self.command("again") == "[again 0]":
            raise Unavailable("cycles: no class was retransformed")

    def retransform_twice(self):
        """What attaching and detaching an agent does."""
        self.retransform()
        self.retransform()

    def soak_cycle(self):
        """What a cycle of the soak has the JVM do."""
        self.retransform()
        self.command("classes")
        self.retransform()

    def end(self):
        if not super().end():
            raise Unavailable("cycles: the program failed without jtrail")
        return True
