"""Pairs of processes of a server. An agent visits one of each pair, and both are measured in
windows of time."""

import re
import statistics
import subprocess
import time

from real_servers.server import SERVERS, Server
from real_servers.throughput import Throughput
from support import jdks
from support.java import write_agent_jar


class Windows:
    """The throughput of the second server of a pair in each window of time, as a share of the
    first server's."""

    def __init__(self, pair, seconds, windows):
        self.shares, self.rates = {"clock": [], "processor": []}, []
        for _ in range(windows):
            for server in pair:
                server.start(seconds)
            self.measure(pair)

    @classmethod
    def around(cls, pair, work):
        """Returns one window, which begins before some work and ends after it."""
        window = cls(pair, None, 0)
        for server in pair:
            server.start()
        work()
        for server in pair:
            server.stop()
        window.measure(pair)
        return window

    def measure(self, pair):
        """Adds the window that ends now."""
        alone, visited = (server.rates() for server in pair)
        self.rates.append(visited[0])
        for shares, one, other in zip(self.shares.values(), alone, visited):
            shares.append(other / one)

    @property
    def rate(self):
        """The answers per second of the second server."""
        return statistics.median(self.rates)


class Visit:
    """One pair of processes: measures both, has an agent visit the second one, and collects what
    is wrong."""

    def __init__(self, options, jdk, name, class_path, folder, control):
        main, arguments, include = SERVERS[name]
        folder.mkdir()
        pair = [Server(jdk, main, arguments, class_path, folder / who) for who in ("alone", "visited")]
        self.options, self.jdk = options, jdk
        self.problems, self.is_sound, self.size = [], True, 0
        Windows(pair, options.warm_up, 1)
        self.before = Windows(pair, options.window, options.windows)
        if control:
            self.during = Windows.around(pair, lambda: self.retransform(pair[1].pid, include, folder / "again.jar"))
        else:
            trace = folder / "trace.trcbin"
            self.during = Windows.around(pair, lambda: self.record(pair[1].pid, include, trace))
            self.verify(trace)
        Windows(pair, options.warm_up, 1)  # the JVM compiles again what was rewritten
        self.after = Windows(pair, options.window, options.windows)
        for who, server in zip(("the server left alone", "the server attached to"), pair):
            server.end()
            self.problems += [f"{who}: {problem}" for problem in server.problems]
            if re.search(r"Exception|^jtrail: ", server.errors(), re.M):
                self.problems.append(f"{who}: standard error: {server.errors()[:4000]}")

    def record(self, pid, include, trace):
        """Attaches, records and detaches under load. Nothing may be lost."""
        rules = [word for pattern in include for word in ("--include", pattern)]
        self.jtrail("attach", pid, "--agent", self.options.agent, "--file", trace, "--events", self.options.events, *rules)
        time.sleep(self.options.record)
        said = self.jtrail("ctl", pid, "stop")
        self.jtrail("ctl", pid, "detach")
        lost = re.search(r"lost: (\d+)", said)
        if not lost or lost[1] != "0":
            self.problems.append(f"lost events: {said}")

    def verify(self, trace):
        """Checks that the trace is sound, and removes it."""
        self.is_sound = "sound" in self.jtrail("verify", trace)
        self.size = trace.stat().st_size if trace.exists() else 0
        trace.unlink(missing_ok=True)

    def retransform(self, pid, include, jar):
        """Has another agent retransform the classes under load, twice: when jtrail would attach,
        and when it would detach."""
        names = "|".join(pattern.replace(".", "[.]").replace("*", ".*") for pattern in include)
        write_agent_jar(jar, Agent_Class="Again", Can_Retransform_Classes="true")
        load = [jdks.jcmd(self.jdk), pid, "JVMTI.agent_load", jar, names]
        for at_end in (False, True):
            done = subprocess.run(load, capture_output=True, text=True)
            if "return code: 0" not in done.stdout:
                self.problems.append(f"jcmd: {done.stdout}{done.stderr}")
            if not at_end:
                time.sleep(self.options.record)

    def jtrail(self, *arguments):
        """Returns the output of a command of jtrail, which should succeed."""
        done = subprocess.run([self.options.jtrail, *map(str, arguments)], capture_output=True, text=True)
        said = (done.stdout + done.stderr).strip()
        if done.returncode != 0:
            self.problems.append(f"jtrail {arguments[0]}: exit code {done.returncode}: {said}")
        return said


class Pairs:
    """Visits to several pairs of processes, one after the other."""

    def __init__(self, visit, what):
        self.visit, self.what, self.visits, self.found = visit, what, [], Throughput()

    def run(self, count):
        """Continues until there are this many pairs."""
        while len(self.visits) < count:
            visit = self.visit(len(self.visits))
            self.visits.append(visit)
            self.found.add(before=visit.before.shares, during=visit.during.shares, after=visit.after.shares)

    def print(self):
        """Prints the means of all pairs in a line."""
        means = [f"{when} {self.found.mean(when):6.1%}" for when in ("before", "during", "after")]
        rate = statistics.median(visit.before.rate for visit in self.visits)
        size = statistics.median(visit.size for visit in self.visits)
        print(f"{self.what:28}{rate:10,.0f}/s  {'  '.join(means)}  kept {self.found.kept():6.1%}  ({self.found.shown()})"
              f"  by the clock {self.found.kept('clock'):6.1%}  {size / 1e6:8,.1f} MB"
              f"  {'sound' if all(visit.is_sound for visit in self.visits) else 'NOT SOUND'}", flush=True)

    def problems(self):
        """What was wrong with any of the visits."""
        return [problem for visit in self.visits for problem in visit.problems]
