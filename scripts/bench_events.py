"""What the kinds of events cost, beside the bare program and the JVM's own recorder (JFR).

One Java program does one thing over and over, in batches; the least batch of all runs counts. Each has three clocks: wall,
the CPU time of the threads that do it, and the CPU time of the process, which adds the JVM's threads, the collector and our
writer. Where wall is far above the thread's CPU time, threads wait, as for the writer. Of a contended
enter, look at the thread's: who holds the monitor polls until the other thread is blocked, and then sleeps a while, which is in
the other two.

Threads that hand over to each other (contended enters, waits) run on one processor. On two, each has to wake the other processor up, which costs
several times what is measured here, and whether they run on one or on two is for the system to decide, anew in each run.

The floors of objects are those of an agent which does nothing but what the row says: the JVM tells of each object, or the program hands it over by a call of
a native method behind `new`; the object gets a tag, or a weak reference, or nothing; its end is counted, or not (agent/examples/tag_floor.rs).

The traces are made and thrown away (`format=none`) unless a row says otherwise.

JFR records one kind of event, without threshold, throttle and (unless a row says so) stacks.
"""

import dataclasses
import os
import re
import statistics
import subprocess

from bench_lib import TARGET, agent, run, version

FLOOR = TARGET / "release" / "examples" / "libtag_floor.so"

PROGRAM = r"""
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** Does what the first argument says, so many times a batch, so many batches. Prints the three clocks of each batch, in ns. */
public class BenchEvents {
    interface Work { void run(int times) throws Exception; }

    static final int FRAMES = 16;
    static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    /** The threads that do the work. */
    static Thread[] workers = {Thread.currentThread()};
    static volatile Object sink;
    static volatile long number;

    /** In the agent of the floor. */
    static native void made(Object object);

    public static void main(String[] args) throws Exception {
        repeat(work(args), args);
    }

    static void repeat(Work work, String[] args) throws Exception {
        int times = Integer.parseInt(args[1]);
        int batches = Integer.parseInt(args[2]);
        below(FRAMES, () -> {
            for (int i = 0; i < batches; i++) measure(work, times);
        });
        System.out.flush();
        Runtime.getRuntime().exit(0); // some programs leave threads behind
    }

    static void measure(Work work, int times) throws Exception {
        long process = SYSTEM.getProcessCpuTime();
        long cpu = cpu();
        long wall = System.nanoTime();
        work.run(times);
        wall = System.nanoTime() - wall;
        System.out.println(wall + " " + (cpu() - cpu) + " " + (SYSTEM.getProcessCpuTime() - process));
    }

    static long cpu() {
        long sum = 0;
        for (Thread t : workers) sum += THREADS.getThreadCpuTime(t.getId());
        return sum;
    }

    /** Runs it with so many frames below it. */
    interface Body { void run() throws Exception; }
    static void below(int frames, Body body) throws Exception {
        if (frames == 0) body.run(); else below(frames - 1, body);
    }

    static Thread daemon(Body body) {
        Thread t = new Thread(() -> {
            try { below(FRAMES, body); } catch (Exception e) { throw new AssertionError(e); }
        });
        t.setDaemon(true);
        t.start();
        return t;
    }

    static Work work(String[] args) throws Exception {
        switch (args[0]) {
            case "alloc": return BenchEvents::allocate;
            case "free": return times -> { allocate(times); System.gc(); };
            case "alloc-floor": return BenchEvents::allocateAndTag;
            case "free-floor": return times -> { allocateAndTag(times); System.gc(); };
            case "contend": return new Contention();
            case "wait": return new Waiting();
            case "park": return BenchEvents::park;
            case "throw": return BenchEvents::throwAndCatch;
            case "lines": return BenchEvents::lines;
            case "fib": return n -> number = fib(n);
            case "busy": return busyBeside(Integer.parseInt(args[3]));
            case "heap":
                fill(Integer.parseInt(args[1]));
                return heap(args[3]);
            default: throw new IllegalArgumentException(args[0]);
        }
    }

    /** 24 bytes. */
    static final class Small {
        final int value;
        final Object next;
        Small(int value, Object next) { this.value = value; this.next = next; }
    }
    static Object last;

    static void allocate(int times) {
        for (int i = 0; i < times; i++) last = new Small(i, null);
    }

    static void allocateAndTag(int times) {
        for (int i = 0; i < times; i++) {
            Small made = new Small(i, null);
            made(made);
            last = made;
        }
    }

    static void park(int times) {
        Thread self = Thread.currentThread();
        for (int i = 0; i < times; i++) {
            LockSupport.unpark(self);
            LockSupport.park();
        }
    }

    static final class Thrown extends RuntimeException {
        Thrown() { super(null, null, false, false); } // takes no stack trace
    }
    static void raise(int value) {
        if (value >= 0) throw new Thrown();
        sink = null;
    }
    static void throwAndCatch(int times) {
        int caught = 0;
        for (int i = 0; i < times; i++) {
            try { raise(i); } catch (Thrown e) { caught++; }
        }
        if (caught != times) throw new AssertionError();
    }

    static int straight(int x, int i) {
STRAIGHT
        return x;
    }
    static void lines(int times) {
        int x = 1;
        for (int n = times / 100, i = 0; i < n; i++) x = straight(x, i);
        number = x;
    }

    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    /** One thread wants a monitor while another holds it until the first is blocked and asleep. */
    static final class Contention implements Work {
        final Object lock = new Object();
        volatile int round;
        volatile int done;

        Contention() {
            workers = new Thread[] {daemon(() -> {
                for (;;) {
                    while (round == done) Thread.yield();
                    synchronized (lock) { done = round; }
                }
            })};
        }
        public void run(int times) {
            for (int i = 0; i < times; i++) {
                synchronized (lock) {
                    round++;
                    while (workers[0].getState() != Thread.State.BLOCKED) Thread.yield();
                    LockSupport.parkNanos(20_000);
                }
                while (done != round) Thread.yield();
            }
        }
    }

    /** Two threads hand a turn to each other. They never leave the monitor save by waiting, so none contends. */
    static final class Waiting implements Work {
        final Object lock = new Object();
        boolean mine = true;

        Waiting() {
            workers = new Thread[] {Thread.currentThread(), daemon(() -> {
                synchronized (lock) {
                    for (;;) {
                        while (mine) lock.wait();
                        mine = true;
                        lock.notify();
                    }
                }
            })};
        }
        public void run(int times) throws InterruptedException {
            synchronized (lock) {
                for (int i = 0; i < times / 2; i++) {
                    mine = false;
                    lock.notify();
                    while (!mine) lock.wait();
                }
            }
        }
    }

    /** One thread works while the others wait. */
    static Work busyBeside(int threads) {
        for (int i = 1; i < threads; i++) daemon(() -> { for (;;) Thread.sleep(1_000_000); });
        return times -> {
            long x = 1;
            for (int i = 0; i < times; i++) x = x * 6364136223846793005L + i;
            number = x;
        };
    }

    /** Dumps a heap of so many objects. */
    static Work heap(String how) throws Exception {
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
        com.sun.management.HotSpotDiagnosticMXBean hotSpot =
                ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class);
        return objects -> {
            if (how.equals("data_dump")) {
                beans.invoke(commands, "jvmtiDataDump", new Object[0], new String[0]);
            } else {
                new File(how).delete();
                hotSpot.dumpHeap(how, true);
            }
        };
    }
    static void fill(int objects) {
        Object[] all = new Object[objects];
        for (int i = 0; i < objects; i++) all[i] = new Small(i, all[i / 2]);
        last = all;
    }
}
""".replace("STRAIGHT", "\n".join(f"        x = x * {n} + i;" for n in range(3, 201, 2)))  # with the return: 100 lines

FIB_25_CALLS = 242_785
HEAP_OBJECTS = 1_000_000
BUSY_TIMES = 50_000_000


@dataclasses.dataclass
class Variant:
    """One way to run a program: bare, with the agent, or with JFR."""

    name: str
    events: str = ""  # and further options of the agent; none: no agent
    jfr: tuple = ()  # events of JFR
    stacks: bool = False  # whether JFR takes them
    since: int = 11  # the first JDK that has the events of JFR
    output: str = "format=none"
    total: str = ""  # what the agent's own totals call its records; held against what was done
    limit: str = ""  # what it should cost
    floor: str = ""  # option of the floor's agent, in place of ours
    program: str = ""  # if not the case's own


BARE = Variant("bare")
NULL = "format=binary,file=/dev/null"


@dataclasses.dataclass
class Case:
    """A program, and the ways to run it."""

    name: str
    program: str
    times: int  # how often a batch does it
    variants: list
    batches: int = 5
    records: float = 1  # how many the agent records each time
    argument: str = ""
    per: int = 0  # how many a batch has of what the price is for, if not `times`
    together: bool = False  # all threads on one processor
    main: str = "BenchEvents"  # the class
    jvm: tuple = ()  # for the JVM
    since: int = 11  # the first JDK that can run it


def traced(name, events, **more):
    return Variant(name, f"events=threads+{events}", **more)


def object_cases():
    tlab = ("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB")

    def floors(program, *kinds):
        """Of objects that are handed over, and of those that the JVM tells of."""
        ways = (("a call behind new", "hook", f"{program}-floor"), ("told by the JVM", "sampled", program))
        return [Variant(", ".join([f"floor: {name}", *kind.split()]).replace("weak", "weak reference"),
                        floor="+".join([way, *kind.split()]), program=of)
                for name, way, of in ways for kind in kinds]

    return [
        Case("24-byte object", "alloc", 2_000_000, [
            BARE,
            traced("alloc=sites", "alloc,alloc=sites", total="objects", limit="<= 15 ns more"),
            traced("alloc=sites with sites", "alloc,alloc=sites,allocsites=true", limit="<= 15 ns more"),
            traced("alloc=sites, written to /dev/null", "alloc,alloc=sites", output=NULL),
            traced("alloc=sites with ids and free", "alloc+free,alloc=sites", total="objects", limit="<= 150 ns more"),
            traced("alloc", "alloc", total="objects"),
            traced("alloc with sites", "alloc,allocsites=true"),
            traced("alloc, written to /dev/null", "alloc", output=NULL),
            traced("alloc with ids (and exceptions)", "alloc+exceptions"),
            traced("alloc with ids and free (and exceptions)", "alloc+free+exceptions"),
            traced("alloc with ids and free", "alloc+free"),
            *floors("alloc", "", "tag", "tag free", "weak", "weak free"),
            Variant("JFR, allocation areas", jfr=tlab),
            Variant("JFR, samples unthrottled", jfr=("ObjectAllocationSample",), since=16)]),
        Case("24-byte object and its collection", "free", 2_000_000, [
            BARE,
            traced("alloc with ids (and exceptions)", "alloc+exceptions"),
            traced("alloc with ids and free (and exceptions)", "alloc+free+exceptions"),
            traced("alloc with ids and free", "alloc+free", total="frees"),
            traced("alloc=sites with ids and free", "alloc+free,alloc=sites", total="frees"),
            *floors("free", "tag", "tag free", "weak free")]),
    ]


def cases():
    def with_stacks(kind, total, *jfr):
        return [BARE,
                traced(f"{kind}, 16 frames", kind, total=total),
                traced(f"{kind}, no stacks", f"{kind},stackdepth=0"),
                Variant("JFR, 16 frames", jfr=jfr, stacks=True), Variant("JFR, no stacks", jfr=jfr)]

    calls = [BARE, traced("methods", "methods", total="enters"),
             traced("methods and cpu", "methods+cpu"), Variant("events=all", "events=all")]
    return [
        Case("contended enter", "contend", 2000,
              with_stacks("monitors", "monitors", "JavaMonitorEnter"), records=2, together=True),
        Case("wait", "wait", 5_000, with_stacks("monitors", "monitors", "JavaMonitorWait"), batches=10, records=2,
             together=True),
        Case("unpark and park", "park", 50_000, with_stacks("parks", "parks", "ThreadPark"), batches=20, records=2),
        Case("throw and catch", "throw", 20_000,
              with_stacks("exceptions", "throws", "JavaExceptionThrow")
              + [traced("exceptions, written to /dev/null", "exceptions", output=NULL)], batches=12),
        Case("line", "lines", 12_000_000, [BARE, traced("lines", "lines")], batches=10),
        Case("call of fib(25)", "fib", 25, calls, batches=12, per=FIB_25_CALLS),
    ]


class Runner:
    """Runs the program in one JVM."""

    def __init__(self, home, work):
        self.java = os.path.join(home, "bin", "java")
        self.home = home
        self.work = work
        self.version = int(version(home))

    def batches(self, case, options, program=""):
        """The three clocks of each batch."""
        command = [self.java, "-Xms512m", "-Xmx512m", *case.jvm, *options, "-cp", self.work, case.main,
                   program or case.program, case.times, case.batches, case.argument]
        on_one = (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})) if case.together else None
        clocks = [tuple(map(int, line.split())) for line in run(command, preexec_fn=on_one).splitlines()
                  if re.fullmatch(r"\d+ \d+ \d+", line)]
        assert len(clocks) == case.batches, clocks
        return clocks

    def options(self, variant):
        if variant.jfr:
            return self.jfr(variant)
        if variant.floor:
            return [f"-agentpath:{FLOOR}={variant.floor}"]
        return [agent(f"{variant.output},{variant.events}")] if variant.events else []

    @property
    def recording(self):
        return os.path.join(self.work, "events.jfr")

    def jfr(self, variant):
        settings = {"enabled": "true", "threshold": "0 ns", "throttle": "off", "period": "1 ms",
                    "stackTrace": str(variant.stacks).lower()}
        events = "".join(
            f'<event name="jdk.{event}">'
            + "".join(f'<setting name="{key}">{value}</setting>' for key, value in settings.items())
            + "</event>" for event in variant.jfr)
        path = os.path.join(self.work, "events.jfc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">{events}</configuration>')
        return [f"-XX:StartFlightRecording:settings={path},filename={self.recording},dumponexit=true,maxsize=2g",
                "-XX:FlightRecorderOptions:stackdepth=16"]

    def recorded_by_jfr(self, variant):
        """How many events the last recording has."""
        summary = run([os.path.join(self.home, "bin", "jfr"), "summary", self.recording])
        return sum(int(re.search(rf"^ jdk\.{event} +(\d+)", summary, re.M).group(1)) for event in variant.jfr)

    def recorded_by_us(self, case, variant):
        """How many the agent counts itself, as it says at the end of a trace."""
        pipe = os.path.join(self.work, "pipe")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
        with subprocess.Popen(["tail", "-c", "65536", pipe], stdout=subprocess.PIPE) as tail:
            self.batches(case, [agent(f"format=binary,file={pipe},{variant.events}")])
            end, _ = tail.communicate()
        totals = re.findall(rb"jtrail totals ([^\0]*?)[\"<\0\n]", end + b"\0")
        return int(re.search(rf"\b{variant.total}=(\d+)".encode(), totals[-1]).group(1))

    def interleaved(self, case, rounds):
        """The batches of each variant, and how many events a run had of those variants that can tell."""
        variants = [variant for variant in case.variants if self.version >= variant.since]
        batches = {variant.name: [] for variant in variants}
        recorded = {}
        for _ in range(rounds):
            for variant in variants:
                batches[variant.name].append(self.batches(case, self.options(variant), variant.program))
                if variant.jfr and variant.name not in recorded:
                    recorded[variant.name] = self.recorded_by_jfr(variant)
        for variant in variants:
            if variant.total:
                recorded[variant.name] = self.recorded_by_us(case, variant)
        return batches, recorded


def least(runs):
    """The least of each clock. The JVM counts the CPU time of the process in steps of 10 ms, so it is taken over all batches
    of a run, save the first, which warms up."""
    wall, thread, _ = (min(clock) for clock in zip(*(batch for batches in runs for batch in batches)))
    late = (batches[1:] or batches for batches in runs)
    return [wall, thread, min(sum(batch[2] for batch in batches) / len(batches) for batches in late)]


def figures(values, sign=""):
    return " / ".join(f"{value:{sign},.{1 if abs(value) < 100 else 0}f}" for value in values)


def ratios(here, bare):
    return " / ".join(f"{a / b:.3f}" for a, b in zip(here, bare)) + " x bare"


def prices(runner, case, rounds, rows, medians=False):
    per = case.per or case.times
    batches, recorded = runner.interleaved(case, rounds)
    bare = [clock / per for clock in least(batches["bare"])]
    for variant in case.variants:
        if variant.name not in batches:
            continue
        here = [clock / per for clock in least(batches[variant.name])]
        more = "" if variant is BARE else figures([a - b for a, b in zip(here, bare)], "+")
        if variant.name in recorded:
            # A contended enter or a wait is one event of JFR, and two of ours.
            should = case.batches * per * (1 if variant.jfr else case.records)
            more += f"; recorded {recorded[variant.name]:,} of {should:,}"
        if medians:
            clocks = zip(*(least([run]) for run in batches[variant.name]))
            more += f"; median of the runs {figures([statistics.median(clock) / per for clock in clocks])} ns"
        rows.append((f"{case.name}, JDK {runner.version}, {variant.name}", variant.limit, f"{figures(here)} ns", more))
    return {name: least(runs) for name, runs in batches.items()}


def frees(runner, case, clocks, rows):
    """What a free costs by itself: objects have tags either way."""
    plain, free = (clocks[variant.name] for variant in case.variants[1:3])
    more = " / ".join(f"+{(b - a) / case.times:.1f}" if b > 1.05 * a else "noise" for a, b in zip(plain, free))
    rows.append((f"free, JDK {runner.version}, alone", "", "", f"{more} ns (differences below 5 % are called noise)"))


def sampler(runner, rounds, rows):
    """A tick stops all threads, so its price is in the wall clock; CPU time of the process has the sampler's own work, and the
    writer's. We sample all threads, JFR those that run (at most one in a tick with Java frames, here), as often as it will."""
    for threads in (10, 100):
        case = Case("busy loop", "busy", BUSY_TIMES, [
            BARE, traced("samples each ms", "samples,interval=1ms", total="samples"),
            Variant("JFR, asked for each ms", jfr=("ExecutionSample", "NativeMethodSample"), stacks=True)],
            batches=20, argument=str(threads))
        batches, recorded = runner.interleaved(case, rounds)
        bare = least(batches["bare"])
        for variant in case.variants:
            here = least(batches[variant.name])
            more = ""
            if variant is not BARE:
                more = f"{ratios(here, bare)}; {recorded[variant.name]:,} samples"
            if variant.events:
                ticks = here[0] / 1e6
                stop, work = ((here[i] - bare[i]) / ticks / 1000 for i in (0, 2))
                more += f"; {figures((stop, work), '+')} us wall / process a tick"
            rows.append((f"1 thread busy, {threads - 1} wait, JDK {runner.version}, {variant.name}", "",
                         f"{figures([clock / 1e6 for clock in here])} ms", more))


def off(runner, rounds, rows):
    """Kinds that are off cost nothing."""
    case = Case("fib(32)", "fib", 32, [
        BARE, Variant("only threads", "events=threads"), Variant("default events, no method included", "include=no.such.Class")],
        batches=20)
    batches, _ = runner.interleaved(case, rounds)
    bare = least(batches["bare"])
    for variant in case.variants:
        here = least(batches[variant.name])
        rows.append((f"fib(32), JDK {runner.version}, {variant.name}", "" if variant is BARE else "no cost",
                     f"{figures([clock / 1e6 for clock in here])} ms",
                     "" if variant is BARE else ratios(here, bare)))


def heap(runner, rounds, rows):
    """Snapshots: the first one of a process, which numbers all objects, and later ones."""
    dump = os.path.join(runner.work, "heap.hprof")
    for name, options, argument in (
            ("ours", [agent("format=none,events=threads+heap,heap=request")], "data_dump"),
            ("ours, written to /dev/null",
             [agent("format=binary,file=/dev/null,events=threads+heap,heap=request")], "data_dump"),
            ("the JVM's heap dump", [], dump)):
        case = Case("snapshot", "heap", HEAP_OBJECTS, [], batches=3, argument=argument)
        runs = [runner.batches(case, options) for _ in range(rounds)]
        for which, batches in (("first", [r[:1] for r in runs]), ("later", [r[1:] for r in runs])):
            seconds = [clock / 1e9 / (HEAP_OBJECTS / 1e6) for clock in least(batches)]
            rows.append((f"heap snapshot, JDK {runner.version}, {name}, {which}", "",
                         f"{' / '.join(f'{s:.2f}' for s in seconds)} s for 1 M objects", ""))
    os.remove(dump)


HEAD = ("wall / CPU of the thread / CPU of the process", "", "each time", "more than bare")


def measure_objects(args, work, rows):
    rows.append(("Objects: " + HEAD[0], *HEAD[1:]))
    for home in args.jdk:
        runner = Runner(home, work)
        for case in object_cases():
            clocks = prices(runner, case, args.rounds, rows, medians=True)
            if case.program == "free":
                frees(runner, case, clocks, rows)


def measure(args, work, rows):
    rows.append(("Events: " + HEAD[0], *HEAD[1:]))
    for home in args.jdk:
        runner = Runner(home, work)
        for case in cases():
            prices(runner, case, args.rounds, rows)
        sampler(runner, args.rounds, rows)
        off(runner, args.rounds, rows)
        heap(runner, args.rounds, rows)
