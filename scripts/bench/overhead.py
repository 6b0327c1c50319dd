"""The overhead that `jtrail ctl status` estimates, beside the measured one.

A run with the agent takes more CPU time than one without it. The measured overhead is the
difference, as a part of the CPU time with the agent. Both runs are whole processes that do the
same. The estimate is the last one that the agent gave in that run. It is a lower bound, so an
estimate above the measured overhead is a fault. Only calls are recorded, because for them the
estimate should be near.
"""

import json
import statistics
import subprocess
import time

from bench.session import agent
from support.paths import JTRAIL
from support.processes import cpu_of_children

JAVA = ("BenchFib.java",)
EXAMPLES = ()

# An estimate that is greater by this much is noise of the machine.
NOISE = 0.05


def traced(command, socket):
    """Runs a program to its end. Returns its CPU seconds, and the agent's last estimate of the
    overhead, in millionths."""
    cpu, estimate = cpu_of_children(), None
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    client = 0.0
    while process.poll() is None:
        before = cpu_of_children()
        status = subprocess.run([JTRAIL, "ctl", "--json", socket, "status"], capture_output=True, text=True)
        client += cpu_of_children() - before
        if status.returncode == 0:
            estimate = json.loads(status.stdout).get("overhead_ppm", estimate)
        time.sleep(0.1)
    return cpu_of_children() - cpu - client, estimate


def measure(session):
    socket = session.folder / "overhead.sock"
    options = agent(f"format=trail,events=methods,include=BenchFib,server=enabled,control={socket},"
                    f"file={session.folder}/overhead.trail")
    for jdk in session.jdks:
        program = ["-cp", session.classes, "BenchFib"]
        bare, runs = [], []
        for _ in range(session.args.rounds):
            cpu = cpu_of_children()
            subprocess.run([jdk.java, *program], check=True, stdout=subprocess.DEVNULL)
            bare.append(cpu_of_children() - cpu)
            runs.append(traced([jdk.java, options, *program], socket))
        least = min(bare)
        measured = statistics.median(1 - least / cpu for cpu, _ in runs)
        estimate = statistics.median(estimate for _, estimate in runs) / 1e6
        verdict = "" if estimate <= measured + NOISE else "FAIL"
        session.add(f"overhead of calls, JDK {jdk.feature}", "estimated <= measured",
                    f"estimated {estimate:.1%}, measured {measured:.1%}", verdict)
