"""What the kinds of events cost, beside the bare program and the JVM's own recorder (JFR).

One Java program does one thing over and over, in batches; the least batch of all runs counts. Each has three clocks: wall,
the CPU time of the threads that do it, and the CPU time of the process, which adds the JVM's threads, the collector and our
writer. Where wall is far above the thread's CPU time, threads wait, as for the writer. Of a contended
enter, look at the thread's: who holds the monitor polls until the other thread is blocked, and then sleeps a while, which is in
the other two.

Threads that hand over to each other (contended enters, waits) run on one processor. On two, each has to wake the other processor up, which costs
several times what is measured here, and whether they run on one or on two is for the system to decide, anew in each run.

The traces are made and thrown away (`format=none`) unless a row says otherwise.

JFR records one kind of event, without threshold, throttle and (unless a row says so) stacks.
"""

import os
import statistics

from bench_lib import agent
from bench_run import BARE, HEAD, NULL, Case, Runner, Variant, figures, least, prices, ratios, traced

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
            case "return": return times -> descend(times, false);
            case "unwind": return times -> descend(times, true);
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

    /** Goes down so many frames, and leaves them all by returns or by an exception. */
    static final Thrown ONE = new Thrown();
    static int down(int frames, boolean throwing) {
        if (frames > 1) return down(frames - 1, throwing) + 1;
        if (throwing) throw ONE;
        return 1;
    }
    static void descend(int times, boolean throwing) {
        long left = 0;
        for (int i = 0; i < times; i++) {
            try { left += down(FRAMES, throwing); } catch (Thrown e) { left += FRAMES; }
        }
        if (left != (long) times * FRAMES) throw new AssertionError();
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
DESCENTS = 20_000
FRAMES = 16  # of each descent
# Threads, ms between ticks, how much a batch does, and batches: with more threads, a tick takes
# longer.
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
        return Case(f"call left by {name}", program, DESCENTS, [BARE, traced("methods", "methods", total="enters")], batches=12,
                    per=DESCENTS * FRAMES)

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
        left_by("return", "return"),
        left_by("exception", "unwind"),
    ]


def tick_of_process(runs, bare, pause):
    """What the process used more for each tick, in ns: the median of the runs. Ticks go by the wall clock, however long a batch takes."""
    def of(batches):
        wall, _, process = (statistics.mean(clock) for clock in zip(*batches))
        return (process - bare) / (wall / 1e6 / pause)
    return statistics.median(of(batches[1:]) for batches in runs)


def sampler(runner, rounds, rows):
    """A tick stops all threads, so its price is in the wall clock; CPU time of the process has the sampler's own work, and the
    writer's. We sample all threads, JFR those that run (at most one in a tick with Java frames, here), as often as it will."""
    for threads, pause, times, count in SAMPLED:
        case = Case("busy loop", "busy", times, [
            BARE, traced(f"samples each {pause} ms", f"samples,interval={pause}ms", total="samples"),
            Variant(f"JFR, asked for each {pause} ms", jfr=("ExecutionSample", "NativeMethodSample"), stacks=True, period=pause)],
            batches=count, argument=str(threads))
        batches, recorded = runner.interleaved(case, rounds)
        bare = least(batches["bare"])
        for variant in case.variants:
            here = least(batches[variant.name])
            more = ""
            if variant is not BARE:
                tick = (here[0] - bare[0]) / (here[0] / 1e6 / pause), tick_of_process(batches[variant.name], bare[2], pause)
                more = (f"{ratios(here, bare)}; {recorded[variant.name]:,} samples; {figures([ns / 1000 for ns in tick], '+')} us "
                        f"wall / process a tick, {' / '.join(f'{ns / 1000 / threads:+.2f}' for ns in tick)} us for each thread")
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


def measure(args, work, rows):
    rows.append(("Events: " + HEAD[0], *HEAD[1:]))
    for home in args.jdk:
        runner = Runner(home, work)
        for case in cases():
            prices(runner, case, args.rounds, rows)
        sampler(runner, args.rounds, rows)
        off(runner, args.rounds, rows)
        heap(runner, args.rounds, rows)
