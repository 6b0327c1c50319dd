"""The kinds of events, beside the bare program and the JVM's own recorder (JFR).

One Java program does one thing over and over, in batches. The minimum of all batches of all runs
counts. Each batch has three clocks: wall-clock time, the CPU time of the threads that do the work,
and the CPU time of the process. The last one includes the JVM's threads, the collector and our
writer. If the wall-clock time is far above the threads' CPU time, they wait, for instance for the
writer. For a contended enter, the threads' CPU time counts. The other two include the owner of the
monitor, which polls until the other thread is blocked and then sleeps a while.

Threads that wait for each other in turn (contended enters, waits) run on one processor. On two,
each would have to wake up the other processor, which costs several times what is measured here. In
each run, the system would decide anew whether they use one or two.

Traces are discarded (`format=none`) unless a row says otherwise. JFR records one kind of event,
without threshold and throttle, and without stacks unless a row says otherwise.
"""

import statistics

from bench.pricing import BARE, HEAD, NULL, PROGRAM, Case, Runner, Variant, figures, least, prices, ratios, traced
from bench.session import agent

JAVA = PROGRAM
EXAMPLES = ()

FIB_25_CALLS = 242_785
HEAP_OBJECTS = 1_000_000
DESCENTS = 20_000
FRAMES = 16  # of each descent
# Threads, ms between ticks, size of a batch, and batches. With more threads a tick takes longer.
SAMPLED = ((10, 1, 50_000_000, 20), (100, 1, 50_000_000, 20), (1_000, 20, 500_000_000, 5))


def cases():
    def with_stacks(kind, total, *jfr):
        return [BARE,
                traced(f"{kind}, 16 frames", kind, total=total),
                traced(f"{kind}, no stacks", f"{kind},stackdepth=0"),
                Variant("JFR, 16 frames", jfr=jfr, stacks=True), Variant("JFR, no stacks", jfr=jfr)]

    calls = [BARE, traced("methods", "methods", total="enters"),
             traced("methods and cpu", "methods+cpu"), Variant("events=all", "events=all"),
             traced("methods, written to /dev/null", "methods", output=NULL),
             traced("methods added up, written to /dev/null", "methods,execdetails=false", output=NULL)]

    def left_by(name, program):
        return Case(f"call left by {name}", program, DESCENTS, [BARE, traced("methods", "methods", total="enters")],
                    batches=12, per=DESCENTS * FRAMES)

    return [
        Case("contended enter", "contend", 2000, with_stacks("monitors", "monitors", "JavaMonitorEnter"), records=2,
             together=True),
        Case("wait", "wait", 5_000, with_stacks("monitors", "monitors", "JavaMonitorWait"), batches=10, records=2,
             together=True),
        Case("unpark and park", "park", 50_000, with_stacks("parks", "parks", "ThreadPark"), batches=20, records=2),
        Case("throw and catch", "throw", 20_000,
             with_stacks("exceptions", "throws", "JavaExceptionThrow")
             + [traced("exceptions, written to /dev/null", "exceptions", output=NULL)], batches=12),
        Case("line", "lines", 12_000_000, [BARE, traced("lines", "lines")], batches=10),
        Case("call of fib(25)", "fib", 25, calls, batches=12, per=FIB_25_CALLS),
        left_by("return", "return"),
        left_by("exception", "unwind"),
    ]


def tick_of_process(runs, bare, pause):
    """CPU time of the process for each tick, in ns, beyond that of the bare program: the median of
    the runs.

    Ticks follow the wall clock, however long a batch takes.
    """
    def of(batches):
        wall, _, process = (statistics.mean(clock) for clock in zip(*batches))
        return (process - bare) / (wall / 1e6 / pause)
    return statistics.median(of(batches[1:]) for batches in runs)


def sampler(runner):
    """Adds the rows of the sampler.

    A tick stops all threads, so its price is in the wall-clock time. The CPU time of the process
    includes the work of the sampler and of the writer. We sample all threads. JFR samples running
    threads as often as it can; here, at most one in a tick has Java frames.
    """
    for threads, pause, times, count in SAMPLED:
        jfr = Variant(f"JFR, asked for each {pause} ms", jfr=("ExecutionSample", "NativeMethodSample"), stacks=True,
                      period=pause)
        ours = traced(f"samples each {pause} ms", f"samples,interval={pause}ms", total="samples")
        case = Case("busy loop", "busy", times, [BARE, ours, jfr], batches=count, argument=str(threads))
        batches, recorded = runner.interleaved(case, runner.session.args.rounds)
        bare = least(batches["bare"])
        for variant in case.variants:
            here = least(batches[variant.name])
            more = ""
            if variant is not BARE:
                tick = ((here[0] - bare[0]) / (here[0] / 1e6 / pause),
                        tick_of_process(batches[variant.name], bare[2], pause))
                more = (f"{ratios(here, bare)}; {recorded[variant.name]:,} samples; "
                        f"{figures([ns / 1000 for ns in tick], '+')} us wall / process a tick, "
                        f"{' / '.join(f'{ns / 1000 / threads:+.2f}' for ns in tick)} us for each thread")
            runner.session.add(f"1 thread busy, {threads - 1} wait, JDK {runner.jdk.feature}, {variant.name}", "",
                               f"{figures([clock / 1e6 for clock in here])} ms", more)


def disabled(runner):
    """Adds the rows of kinds that are disabled, which should cost nothing."""
    case = Case("fib(32)", "fib", 32, [
        BARE, Variant("only threads", "events=threads"),
        Variant("default events, no method included", "include=no.such.Class")], batches=20)
    batches, _ = runner.interleaved(case, runner.session.args.rounds)
    bare = least(batches["bare"])
    for variant in case.variants:
        here = least(batches[variant.name])
        runner.session.add(f"fib(32), JDK {runner.jdk.feature}, {variant.name}", "" if variant is BARE else "no cost",
                           f"{figures([clock / 1e6 for clock in here])} ms",
                           "" if variant is BARE else ratios(here, bare))


def heap(runner):
    """Adds the rows of heap snapshots. The first snapshot in a process numbers all objects; later
    ones don't."""
    dump = runner.session.folder / "heap.hprof"
    for name, options, argument in (
            ("ours", [agent("format=none,events=threads+heap,heap=request")], "data_dump"),
            ("ours, written to /dev/null",
             [agent("format=binary,file=/dev/null,events=threads+heap,heap=request")], "data_dump"),
            ("the JVM's heap dump", [], dump)):
        case = Case("snapshot", "heap", HEAP_OBJECTS, [], batches=3, argument=argument)
        runs = [runner.batches(case, options) for _ in range(runner.session.args.rounds)]
        for which, batches in (("first", [run[:1] for run in runs]), ("later", [run[1:] for run in runs])):
            seconds = [clock / 1e9 / (HEAP_OBJECTS / 1e6) for clock in least(batches)]
            runner.session.add(f"heap snapshot, JDK {runner.jdk.feature}, {name}, {which}", "",
                               f"{' / '.join(f'{s:.2f}' for s in seconds)} s for 1 M objects")
    dump.unlink()


def measure(session):
    session.add("Events: " + HEAD[0], *HEAD[1:])
    for jdk in session.jdks:
        runner = Runner(session, jdk)
        for case in cases():
            prices(runner, case)
        sampler(runner)
        disabled(runner)
        heap(runner)
