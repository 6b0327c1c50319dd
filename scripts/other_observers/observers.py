"""The observers: how each runs, and what it finds.

Each takes the setting, the options of agents to load before and after its own, and a folder. It
returns the program's run, and its figures by name.
"""

import csv
import json
import re
import subprocess
import threading
import time
from collections import Counter

from other_observers.program import CALLS, JAVA, LEFT_BY_EXCEPTION, MAIN, ROUNDS, TIMEOUT, Failure, run
from support.java import compile_java

BYTEMAN_RULES = {
    "entry": "AT ENTRY", "exit": "AT EXIT", "throw": "AT THROW ALL", "exception exit": "AT EXCEPTION EXIT",
}


def jfr(setting, before, after, folder):
    """Method timing (from JDK 25 on), and exceptions thrown."""
    settings = "jdk.JavaExceptionThrow#enabled=true," + "jdk.JavaExceptionThrow#throttle=off," * (setting.jdk.feature >= 25)
    if setting.jdk.feature >= 25:
        settings += f"method-timing={MAIN},"
    result = setting.java([*before, f"-XX:StartFlightRecording:{settings}filename=r.jfr", *after], folder)
    printed = run([setting.jdk.tool("jfr"), "print", "--json", "--events", "jdk.MethodTiming,jdk.JavaExceptionThrow",
                   "r.jfr"], folder)
    found = Counter()
    timed = {}
    for event in json.loads(printed.stdout)["recording"]["events"]:
        values = event["values"]
        if event["type"] == "jdk.MethodTiming":
            timed[values["method"]["name"]] = values["invocations"]
        elif values["thrownClass"]["name"] in ("java/lang/IllegalStateException", "java/lang/IllegalArgumentException"):
            found[f"thrown {values['thrownClass']['name']}"] += 1
    found.update({f"timing {name}": count for name, count in timed.items() if name in CALLS})
    return result, dict(found)


def jacoco(setting, before, after, folder):
    """Coverage by method, from its report."""
    jars = setting.jars("jacoco", "org.jacoco:org.jacoco.agent:0.8.14:runtime", "org.jacoco:org.jacoco.cli:0.8.14:nodeps")
    agent, cli = next(jars.glob("*-runtime.jar")), next(jars.glob("*-nodeps.jar"))
    result = setting.java([*before, f"-javaagent:{agent}=destfile=jacoco.exec,includes={MAIN}", *after], folder)
    report = run([setting.jdk.java, "-jar", cli, "report", "jacoco.exec", "--classfiles", setting.classes,
                  "--csv", "r.csv"], folder)
    if report.returncode != 0:
        raise Failure(f"jacoco: {report.stderr}")
    with open(folder / "r.csv") as file:
        row = next(row for row in csv.DictReader(file) if row["CLASS"] == MAIN)
    return result, {key.lower(): int(value) for key, value in row.items() if key.endswith(("_MISSED", "_COVERED"))}


def byteman(setting, before, after, folder):
    """Rules at entries, exits, throws and exception exits of each method."""
    agent = next(setting.jars("byteman", "org.jboss.byteman:byteman:4.0.25").glob("byteman-*.jar"))
    rules = "".join(f"RULE {kind} {method}\nCLASS {MAIN}\nMETHOD {method}\n{at}\nIF TRUE\n"
                    f'DO System.out.println("@ {kind} {method}")\nENDRULE\n'
                    for kind, at in BYTEMAN_RULES.items() for method in CALLS)
    (folder / "rules.btm").write_text(rules)
    result = setting.java([*before, f"-javaagent:{agent}=script:rules.btm", *after], folder)
    return result, dict(Counter(line[2:] for line in result.stdout.splitlines() if line.startswith("@ ")))


def aspectj(setting, before, after, folder):
    """Advice woven as classes load: executions, returns, throws, calls, handlers."""
    agent = next(setting.jars("aspectj", "org.aspectj:aspectjweaver:1.9.25").glob("aspectjweaver-*.jar"))
    classes = setting.cache / f"aspect-{setting.jdk.feature}"
    compile_java(setting.jdk, JAVA / "Counting.java", [agent], classes)
    (classes / "META-INF").mkdir(exist_ok=True)
    (classes / "META-INF/aop.xml").write_text(
        f'<aspectj><aspects><aspect name="Counting"/></aspects><weaver><include within="{MAIN}"/>'
        '<include within="Counting"/></weaver></aspectj>')
    opens = ["--add-opens", "java.base/java.lang=ALL-UNNAMED"]
    result = setting.java([*before, f"-javaagent:{agent}", *after], folder, opens, class_path=[classes, agent])
    lines = (line.split() for line in result.stderr.splitlines() if line.startswith("@ "))
    return result, {" ".join(words[1:-1]): int(words[-1]) for words in lines}


def opentelemetry(setting, before, after, folder):
    """Spans of methods, on the console."""
    artifact = "io.opentelemetry.javaagent:opentelemetry-javaagent:2.21.0"
    agent = next(setting.jars("opentelemetry", artifact).glob("opentelemetry-javaagent-*.jar"))
    methods = ",".join(method for method in CALLS if method != "main")
    more = [f"-Dotel.instrumentation.methods.include={MAIN}[{methods}]", "-Dotel.traces.exporter=console",
            "-Dotel.metrics.exporter=none", "-Dotel.logs.exporter=none"]
    result = setting.java([*before, f"-javaagent:{agent}", *after], folder, more)
    return result, dict(Counter(re.findall(rf"'{MAIN}\.(\w+)' :", result.stderr + result.stdout)))


def jdb(setting, before, after, folder):
    """Breakpoints, and stops at exceptions."""
    tool = setting.jdk.tool("jdb")
    if not tool:
        return None, {}
    # jdb does not launch the program, as that of 17 takes no options for agents.
    jdwp = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:0"
    command = [setting.jdk.java, *before, jdwp, *after, "-cp", setting.classes, MAIN]
    java = subprocess.Popen([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)
    port = re.search(r"(\d+)\s*$", java.stdout.readline())
    if not port:
        raise Failure(f"jdb: no port: {java.communicate()}")
    steps = [f"stop in {MAIN}.direct(int)", "cont", "where", f"clear {MAIN}.direct(int)",
             "catch all java.lang.IllegalStateException"] + ["cont"] * (4 * ROUNDS)
    text, result = debug(java, [tool, "-attach", f"127.0.0.1:{port[1]}"], steps)
    first = re.search(r"\[1\] Observed\.direct.*?(?=main\[1\])", text, re.S)
    throws = re.findall(r'Exception occurred: (\S+) \(.*?\)"?thread=main", Observed\.(\w+)\(', text)
    found = {f"stop in {method}": count for (_, method), count in Counter(throws).items()}
    if first:
        frames = re.findall(r"Observed\.(\w+) \(Observed\.java:\d+\)", first[0])
        found["frames at the breakpoint: " + " ".join(frames)] = 1
    return result, found


def debug(java, command, steps):
    """Runs jdb's steps, each at its prompt. Returns what jdb printed, and the run of the program
    `java`."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    chunks = []
    reader = threading.Thread(target=lambda: chunks.extend(iter(lambda: process.stdout.read(1), "")))
    reader.start()
    deadline = time.monotonic() + TIMEOUT
    seen = 0
    for step in steps:
        while not "".join(chunks)[seen:].rstrip().endswith("main[1]"):
            if process.poll() is not None or time.monotonic() > deadline:
                break
            time.sleep(0.005)
        seen = len(chunks)
        try:
            process.stdin.write(step + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            break
    try:
        output, errors = java.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        java.kill()
        output, errors = java.communicate()
    process.kill()
    reader.join()
    return "".join(chunks), subprocess.CompletedProcess([], java.returncode, output, errors)


def one_more_for_exceptions(kind):
    """Returns a function for the expected figures of an observer that counts jtrail's rethrows.

    If an exception leaves a method, jtrail's handler rethrows it. An observer that sees the code
    with the handler counts this throw too.
    """
    def expected(alone, label, jtrail_is_first):
        word, _, name = label.rpartition(" ")
        extra = LEFT_BY_EXCEPTION.get(name, 0) if word == kind and jtrail_is_first else 0
        return alone + extra
    expected.kind = kind
    return expected


def same(alone, label, jtrail_is_first):
    """The expected figures of an observer whose figures jtrail does not change."""
    return alone


same.kind = None

# By name: how the observer runs, whether the order of agents can matter, and its expected figures
# with jtrail beside it.
OBSERVERS = {
    "jfr": (jfr, False, one_more_for_exceptions("timing")),
    "jacoco": (jacoco, True, same),
    "byteman": (byteman, True, one_more_for_exceptions("throw")),
    "aspectj": (aspectj, True, same),
    "opentelemetry": (opentelemetry, True, same),
    "jdb": (jdb, False, one_more_for_exceptions("stop in")),
}
