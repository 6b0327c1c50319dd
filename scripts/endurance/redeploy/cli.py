"""Redeploys a web application a thousand times in one JVM, with the agent and without: does
anything grow?

An embedded Tomcat deploys the application in a class loader of its own, answers three requests, and
undeploys it. Every so often the JVM collects its garbage, and the script measures the metaspace,
the loaded classes, the heap, the memory of the process, and what the agent has allocated. For each
figure, the minimum of the last quarter of the measurements is compared with that of the second
quarter. The difference is the growth. The growth with the agent may exceed that without it by the
bounds in endurance/redeploy/bounds.py. Exits with 1 if it exceeds them, if an answer is wrong, or
if the trace is not sound.

Tomcat comes from Maven Central by mvn and is kept in a cache, as for scripts/real-programs.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from endurance.growth import growth, looks
from endurance.redeploy.bounds import KEYS, grown
from support import arguments, downloads, paths
from support.errors import Unavailable
from support.java import compile_java
from support.processes import Conversation, resident_bytes

DRIVER = paths.SCRIPTS / "endurance" / "java" / "RedeployDriver.java"
INCLUDE = {"own": ["CountServlet*", "org.apache.*", "jakarta.*"], "all": ["*"]}


class Server(Conversation):
    """The embedded Tomcat's process."""

    def __init__(self, jdk, class_path, application, folder, agent):
        super().__init__("redeploy", [jdk.java, "-Xmx256m", *agent, "-cp", os.pathsep.join(map(str, class_path)),
                                      "RedeployDriver", folder / "tomcat", application])
        self.wrong = []
        self.wait_for("[ready]")

    def figures(self, rounds):
        """Has the server redeploy the application `rounds` times. Returns what the process uses
        then."""
        words = self.ask(f"{rounds}", "[figures]").split()[1:]
        figures = {key: int(value) for key, value in (word.split("=") for word in words)}
        wrong = rounds - figures.pop("right")
        if wrong:
            self.wrong.append(f"wrong answers in {wrong} rounds of {rounds}")
        return figures | {"rss": resident_bytes(self.pid)}

    def end(self):
        rest, code = self.finish()
        if "[sound]" not in rest or code != 0:
            self.wrong.append("the server failed")


def run(options, server, memory):
    """Runs all rounds. Returns the figures of all measurements."""
    print("  rounds: " + " ".join(f"{key:>12}" for key in KEYS), flush=True)
    seen, count = [], looks(options.cycles)
    for look in range(count):
        done = options.cycles * (look + 1) // count
        seen.append(server.figures(done - options.cycles * look // count) | {"agent": memory()})
        print(f"  {done:>6}: " + " ".join(f"{seen[-1][key]:>12,}" for key in KEYS), flush=True)
    server.end()
    return seen


def check(options, jdk, class_path, application, folder):
    """Runs one JVM without the agent and one with it. Returns what is wrong."""
    print(f"Java {jdk.feature}, without the agent", flush=True)
    bare = Server(jdk, class_path, application, folder / "bare", [])
    before = run(options, bare, lambda: 0)
    wrong = [f"without the agent: {text}" for text in bare.wrong]
    trace, socket = folder / "trace.trail", folder / "socket"
    rules = "".join(f",include={pattern}" for pattern in INCLUDE[options.include])
    agent = f"format=trail,file={trace},events={options.events},control={socket},server=enabled{rules}"

    def memory():
        done = subprocess.run([options.jtrail, "ctl", socket, "--json", "status"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"redeploy: jtrail ctl status: {done.stderr}")
        return json.loads(done.stdout)["memory"]

    print(f"Java {jdk.feature}, with the agent, {options.include} classes", flush=True)
    server = Server(jdk, class_path, application, folder / "traced", [f"-agentpath:{options.agent}={agent}"])
    after = run(options, server, memory)
    wrong += server.wrong + grown(growth(before), growth(after), options.cycles)
    verified = subprocess.run([options.jtrail, "verify", trace], capture_output=True, text=True)
    print("  " + (verified.stdout + verified.stderr).splitlines()[0])
    if verified.returncode != 0 or "events lost: 0" not in verified.stdout:
        wrong.append(f"jtrail verify: exit {verified.returncode}: {verified.stdout}{verified.stderr}")
    return wrong


def parse():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_jdks(parser)
    arguments.add_build(parser)
    arguments.add_cache(parser)
    parser.add_argument("--cycles", type=int, default=1000, metavar="N", help="redeployments (default: %(default)s)")
    parser.add_argument("--include", choices=INCLUDE, default="own",
                        help="the server's and the application's classes, or all (default: %(default)s)")
    parser.add_argument("--events", default="methods+threads+gc", help="what is recorded (default: %(default)s)")
    return parser.parse_args()


def main():
    options = parse()
    arguments.check_build(options)
    cache = options.cache.resolve() / "redeploy"
    jars = sorted(downloads.fetch(cache, [downloads.TOMCAT]).glob("*.jar"))
    homes = arguments.jdks(options)
    compile_java(homes[0], DRIVER, jars, cache / "classes")
    application = cache / "application"
    shutil.rmtree(application, ignore_errors=True)
    compile_java(homes[0], paths.JAVA / "web", jars, application / "WEB-INF/classes")
    failed = False
    for jdk in homes:
        with tempfile.TemporaryDirectory(prefix="jtrail-redeploy-") as scratch:
            wrong = check(options, jdk, [cache / "classes", *jars], application, Path(scratch))
        for text in wrong:
            print(f"Java {jdk.feature}: {text}")
        print(f"Java {jdk.feature}: {'grows, or is wrong' if wrong else 'ok'}", flush=True)
        failed |= bool(wrong)
    sys.exit(1 if failed else 0)
