"""Runs one program, plain and with the agent, and judges the runs."""

import collections
import os
import shutil
import sys

from real_programs import compare
from real_programs.messages import SPELLINGS
from real_programs.programs import PROGRAMS
from support import downloads
from support.java import compile_java
from support.tables import scaled
from support.traces import TraceFolder, TraceReader

# Formats of traces, with the options that they take.
FORMATS = {name: name for name in ("xml", "binary", "jinsight", "mlpd", "tracelog", "profilerj", "trail")}
# With `execdetails=false`, traces have other messages, because calls are added up.
FORMATS |= {f"{name}-sums": f"{name},execdetails=false" for name in SPELLINGS}
FORMATS["mlpd17"] = "mlpd,mlpd.version=17"
# A trace log's other modes.
FORMATS["tracelog-samples"] = "tracelog,events=samples+cpu"
FORMATS["tracelog-everysample"] = "tracelog,events=samples+cpu,tracelog.every-sample=true"
FORMATS["tracelog-memory"] = "tracelog,events=threads+gc+alloc+free"
# All sections of a snapshot.
FORMATS["profilerj-all"] = "profilerj,events=methods+threads+samples+alloc+free+gc+lines"
# These formats have no notes, and so do not have the agent's totals.
WITHOUT_NOTES = {name for name in FORMATS if name.startswith(("mlpd", "tracelog", "profilerj"))}


class Program:
    """A program that is fetched and compiled for one JDK. `short`: a long program does less."""

    def __init__(self, name, jdk, cache, short):
        self.name, self.jdk, self.spec, self.short = name, jdk, PROGRAMS[name], short
        self.folder = cache / name
        self.library = downloads.fetch(self.folder, self.spec.artifacts)
        self.class_path = sorted(self.library.glob("*.jar"))
        if self.spec.sources:
            classes = self.folder / "classes"
            compile_java(jdk, self.spec.sources, self.class_path, classes)
            self.class_path.insert(0, classes)
        self.spec.prepare(self)

    def run(self, work, agent, timeout):
        """Runs the program once in a fresh folder, with the options `agent`, which are empty for a
        plain run. Only files in the program's folder `out` are compared."""
        out = work / "out"
        (work / "tmp").mkdir(parents=True)
        out.mkdir()
        variables = self.spec.environment(self)
        command = [self.jdk.java, *self.jdk.verify, f"-Djava.io.tmpdir={work / 'tmp'}",
                   "-Dfile.encoding=UTF-8", "-Dpython.cachedir.skip=true",
                   "-Dtests.seed=42", *self.spec.flags(self)]  # Lucene's ids are random otherwise
        if self.spec.jvms > 1:
            # Plain runs have the variable too, as the JVM prints that it found it.
            variables["JAVA_TOOL_OPTIONS"] = " ".join([*self.jdk.verify, *agent])
        else:
            command += agent
        if self.class_path:
            command += ["-cp", os.pathsep.join(map(str, self.class_path))]
        command += self.spec.args(self, out)
        command = self.spec.launch(self, out, command)
        return compare.run([str(word) for word in command], work, out, timeout, variables)


def check(program, options, all_classes, scratch):
    """Runs one program, plain and in each format. Returns a row of the table for each format."""
    plain = []
    for _ in range(2):
        # The same folder each time, because its name may be in the output.
        plain.append(program.run(scratch / "run", [], options.timeout))
        shutil.rmtree(scratch / "run")
    include = ["*"] if all_classes else program.spec.include
    empty = {"program": program.name, "jdk": program.jdk.feature, "include": "+".join(include),
             "plain": f"{min(run.seconds for run in plain):.1f}"}
    if plain[0].code != 0:
        show(plain[0])
        wrong = [f"fails without the agent too: exit {plain[0].code}"]
        return [empty | {"wrong": wrong, "reasons": collections.Counter()}]
    if options.plain:
        noise = "; ".join(compare.differences(plain[0], plain[1], compare.Noise()))
        return [empty | {"noise": noise, "wrong": [], "reasons": collections.Counter()}]
    formats = formats_of(program.spec, options.format or ["binary"], all_classes)
    return [traced(program, options, name, include, plain, empty, scratch) for name in formats]


def keep(program, options, scratch):
    """Runs one program with the agent, and keeps its trail. Returns a row with what is wrong."""
    rules = ",".join(f"include={pattern}" for pattern in program.spec.include)
    trail = options.keep.resolve() / f"{program.name}.trail"
    text = f"format=trail,file={trail},{rules}"
    if options.options:
        text += "," + options.options
    run = program.run(scratch / "run", [f"-agentpath:{options.agent}={text}"], options.timeout)
    if run.code != 0:
        show(run)
    return [{"wrong": [f"exit {run.code}"] if run.code != 0 else []}]


def formats_of(spec, wanted, all_classes):
    """The formats to try. If a program has several JVMs, they write their traces to files. With all
    classes these are a billion events, and only a trail is small enough."""
    if spec.jvms == 1 or not all_classes:
        return wanted
    others = [name for name in wanted if name != "trail"]
    if others:
        print(f" (with all classes, {', '.join(others)} would take too much room, and is skipped)", end="", flush=True)
    return ["trail"]


def traced(program, options, format_name, include, plain, empty, scratch):
    """Runs one program with the agent and compares. Returns a row of the table."""
    row = empty | {"format": format_name, "wrong": [], "reasons": collections.Counter()}
    wrong = row["wrong"]
    noise = compare.Noise.between(*plain, has_log=program.spec.has_log)
    several = program.spec.jvms > 1
    reader = TraceFolder(scratch / "traces", options.jtrail) if several \
        else TraceReader(scratch / "trace.fifo", options.jtrail)
    rules = ",".join(f"include={pattern}" for pattern in include)
    text = f"format={FORMATS[format_name]},file={reader.path},{rules}"
    if options.options:
        text += "," + options.options
    run = program.run(scratch / "run", [f"-agentpath:{options.agent}={text}"], options.timeout)
    shutil.rmtree(scratch / "run")
    verdict = reader.finish()

    wrong += compare.differences(plain[0], run, noise)
    for word in ("VerifyError", "ClassFormatError", "NoClassDefFoundError: java/lang/Jtrail"):
        if word in run.text() and word not in plain[0].text():
            wrong.append(word)
    if verdict.code != 0:
        print((verdict.output or "no trace").strip(), file=sys.stderr)
    wrong += trace_problems(program.spec, verdict, format_name, include, run)
    if wrong:
        show(run)
    row.update(traced=f"{run.seconds:.1f}", bytes=scaled(verdict.bytes), reasons=verdict.reasons,
               megabytes=round(verdict.bytes / 1e6), events=verdict.events, kinds=verdict.kinds)
    for key in ("classes", "methods", "uninstrumented", "enters", "leaves", "repaired", "open", "lost"):
        row[key] = verdict.totals.get(key, "-")
    return row


def trace_problems(spec, verdict, format_name, include, run):
    """What is wrong with the trace, or with the traces of several JVMs."""
    wrong, totals = [], verdict.totals
    if verdict.code != 0:
        wrong.append(f"jtrail verify: exit {verdict.code}")
    if spec.jvms > 1 and verdict.count < spec.jvms:
        wrong.append(f"traces of {verdict.count} JVMs instead of {spec.jvms}")
    if not totals and format_name in WITHOUT_NOTES:
        if "were lost" in run.text():
            wrong.append("events lost")
    elif not totals or verdict.without_totals:
        wrong.append("no totals in the trace")
    elif totals.get("lost", 0):
        wrong.append(f"{totals['lost']} events lost")
    elif totals.get("repaired", 0) and include != ["*"]:
        # With all classes there are some: an exception in a constructor's this() call leaves both
        # constructors.
        wrong.append(f"{totals['repaired']} calls without a leave of their own")
    return wrong


def show(run):
    """Prints the end of a run's output."""
    print(f"--- exit {run.code}, stdout", run.stdout.decode(errors="replace")[-3000:],
          "--- stderr", run.stderr.decode(errors="replace")[-3000:], sep="\n", file=sys.stderr)
