"""How near the truth the overhead is that `jtrail ctl status` tells.

The truth is the CPU time that a run with the agent takes more than one without it, as a part of its own: both are whole processes that do the same. The
estimate is the last one that the agent told of that run. It is a lower bound, so more than the truth is a fault, and it is asked for calls only, where it
should come near.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import time

from bench_lib import TARGET, agent, version

# More than the truth by so much is noise of the machine.
NOISE = 0.05


def used():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def traced(command, socket):
    """Runs it to its end; CPU seconds, and the overhead that was told last."""
    cpu, told = used(), None
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
    asked = 0.0
    while process.poll() is None:
        before = used()
        status = subprocess.run([TARGET / "release/jtrail", "ctl", "--json", socket, "status"], capture_output=True, text=True)
        asked += used() - before  # by the client, not the program
        if status.returncode == 0:
            told = json.loads(status.stdout).get("overhead_ppm", told)
        time.sleep(0.1)
    return used() - cpu - asked, told


def measure(args, work, rows):
    socket = pathlib.Path(work) / "overhead.sock"
    for home in args.jdk:
        program = ["-cp", work, "BenchFib"]
        java = os.path.join(home, "bin", "java")
        options = agent(f"format=trail,events=methods,include=BenchFib,server=enabled,control={socket},file={work}/overhead.trail")
        bare, parts = [], []
        for _ in range(args.rounds):
            cpu = used()
            subprocess.run([java, *program], check=True, stdout=subprocess.DEVNULL)
            bare.append(used() - cpu)
            parts.append(traced([java, options, *program], socket))
        least = min(bare)
        truth = statistics.median(1 - least / cpu for cpu, _ in parts)
        told = statistics.median(part for _, part in parts) / 1e6
        verdict = "" if told <= truth + NOISE else "FAIL"
        rows.append((f"overhead of calls, JDK {version(home)}", "told <= measured", f"told {told:.1%}, measured {truth:.1%}", verdict))
