"""The peak memory of a program of 50,000 methods, with the agent and without."""

import re

from bench.session import agent

JAVA = ("BenchMany.java.in",)
EXAMPLES = ()


def measure(session):
    ways = {"bare": [], "agent": [agent(f"format=binary,file={session.folder}/many.trcbin")]}
    for jdk in session.jdks:
        peaks = {name: [] for name in ways}
        for _ in range(max(2, session.args.rounds // 2)):
            for name, options in ways.items():
                text = session.java(jdk, ["-Xint", "-Xmx256m", *options], "BenchMany")
                peaks[name].append(int(re.search(r"VmHWM:\s*(\d+) kB", text)[1]) / 1024)
        bare, traced = max(peaks["bare"]), max(peaks["agent"])
        session.add(f"50,000 methods, JDK {jdk.feature}", "<= buffer (64 MB) + 64 MB more",
                    f"{bare:.0f} -> {traced:.0f} MB", f"+{traced - bare:.0f} MB")
