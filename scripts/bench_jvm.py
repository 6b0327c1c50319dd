"""What the kinds of events cost that tell what the JVM and other agents do: threads, virtual threads, classes, collections, compiled code.

As bench_events.py does it, whose clocks and ways to run a program these are. Where a thread of the JVM's own does the work (it
collects, it compiles), or many threads do, the price is in the CPU time of the process; of collections, which all threads wait for, in the wall clock too.

Virtual threads run on one carrier. Collections are those of a small young generation with nothing alive in it, so that
they are as short as collections are. Methods are compiled by C1 at their first call, while the program waits, and nothing else is compiled.
"""

import os
import zipfile

from bench_run import BARE, HEAD, Case, Runner, Variant, prices

PROGRAM = r"""
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

/** As BenchEvents. */
public class BenchJvm {
    public static void main(String[] args) throws Exception {
        BenchEvents.repeat(work(args[0]), args);
    }

    static BenchEvents.Work work(String what) throws Exception {
        switch (what) {
            case "thread": return BenchJvm::threads;
            case "virtual": return BenchJvm::virtualThreads;
            case "yield": return BenchJvm::yields;
            case "load": return times -> load(times, false);
            case "compile": return times -> load(times, true);
            case "redefine": return again(true);
            case "retransform": return again(false);
            case "collect": return BenchJvm::collect;
            default: throw new IllegalArgumentException(what);
        }
    }

    /** What another agent does, over and over, to a class of 10 fields and 20 methods. */
    static BenchEvents.Work again(boolean redefine) throws Exception {
        Class<?> loaded = new Loader().define(0);
        java.lang.instrument.ClassDefinition same =
                new java.lang.instrument.ClassDefinition(loaded, Loader.named(0));
        return times -> {
            for (int i = 0; i < times; i++) {
                if (redefine) Other.instrumentation.redefineClasses(same);
                else Other.instrumentation.retransformClasses(loaded);
            }
        };
    }
    /** The other agent. */
    public static final class Other {
        static java.lang.instrument.Instrumentation instrumentation;
        public static void premain(String options, java.lang.instrument.Instrumentation given) { instrumentation = given; }
    }

    static void threads(int times) throws Exception {
        for (int i = 0; i < times; i++) {
            Thread thread = new Thread(() -> { });
            thread.start();
            thread.join();
        }
    }

    static Thread virtual(Runnable body) throws Exception {
        return (Thread) Virtual.START.invoke(null, body);
    }
    /** JDK 21 and later have it. */
    static final class Virtual {
        static final Method START;
        static {
            try {
                START = Thread.class.getMethod("startVirtualThread", Runnable.class);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }
    }

    static void virtualThreads(int times) throws Exception {
        CountDownLatch ended = new CountDownLatch(times);
        for (int i = 0; i < times; i++) virtual(ended::countDown);
        ended.await();
    }

    static final int YIELDERS = 8;
    static void yields(int times) throws Exception {
        CountDownLatch ended = new CountDownLatch(YIELDERS);
        for (int i = 0; i < YIELDERS; i++) {
            virtual(() -> {
                for (int k = 0; k < times / YIELDERS; k++) Thread.yield();
                ended.countDown();
            });
        }
        ended.await();
    }

    /** A class under many names. */
    static final class Loader extends ClassLoader {
        static final String NAME = "BenchLoaded00000";
        static final byte[] BYTES = read();
        /** Where the digits of the name are. */
        static final int[] PLACES = places();

        static byte[] read() {
            try (java.io.InputStream in = BenchJvm.class.getResourceAsStream(NAME + ".class")) {
                return in.readAllBytes();
            } catch (java.io.IOException e) {
                throw new AssertionError(e);
            }
        }
        static int[] places() {
            String text = new String(BYTES, StandardCharsets.ISO_8859_1);
            int[] places = new int[0];
            for (int at = text.indexOf(NAME); at >= 0; at = text.indexOf(NAME, at + 1)) {
                places = java.util.Arrays.copyOf(places, places.length + 1);
                places[places.length - 1] = at + NAME.length() - 5;
            }
            return places;
        }
        static byte[] named(int number) {
            byte[] bytes = BYTES.clone();
            byte[] digits = String.format("%05d", number).getBytes(StandardCharsets.ISO_8859_1);
            for (int place : PLACES) System.arraycopy(digits, 0, bytes, place, digits.length);
            return bytes;
        }
        Class<?> define(int number) {
            byte[] bytes = named(number);
            return defineClass(null, bytes, 0, bytes.length);
        }
    }
    static void load(int times, boolean calls) throws Exception {
        Loader loader = new Loader();
        for (int i = 0; i < times; i++) {
            Class<?> made = loader.define(i);
            Constructor<?> constructor = made.getDeclaredConstructor();
            constructor.setAccessible(true);
            Object one = constructor.newInstance();
            if (calls) BenchEvents.number = ((java.util.function.IntUnaryOperator) one).applyAsInt(i);
        }
    }

    /** Fills the young generation, so many times. */
    static void collect(int times) {
        long before = collections();
        long bytes = eden() * times;
        for (long made = 0; made < bytes; made += 1 << 16) BenchEvents.last = new byte[(1 << 16) - 16];
        long collections = collections() - before;
        if (Math.abs(collections - times) > times / 10) throw new AssertionError(collections + " collections");
    }
    static long collections() {
        long all = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) all += bean.getCollectionCount();
        return all;
    }
    static long eden() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
            if (pool.getName().contains("Eden")) return pool.getUsage().getCommitted();
        throw new AssertionError();
    }
}

class BenchLoaded00000 implements java.util.function.IntUnaryOperator {
FIELDS
METHODS
    public int applyAsInt(int x) { return CALLS; }
}
"""
METHODS = 18  # and the constructor, and the one that calls them
PROGRAM = (PROGRAM
           .replace("FIELDS", "\n".join(f"    int field{n};" for n in range(10)))
           .replace("METHODS", "\n".join(f"    static int method{n}(int x) {{ return x * {n} + 1; }}" for n in range(METHODS)))
           .replace("CALLS", " + ".join(f"method{n}(x)" for n in range(METHODS))))


OTHER_AGENT = "other.jar"


def pack(work):
    """Makes the other agent, whose class is the program's own."""
    with zipfile.ZipFile(os.path.join(work, OTHER_AGENT), "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Premain-Class: BenchJvm$Other\nCan-Redefine-Classes: true\nCan-Retransform-Classes: true\n")


def cases():
    def case(name, program, times, *variants, **more):
        return Case(name, program, times, [BARE, *variants], main="BenchJvm", **more)

    one_carrier = ("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1")
    others = Variant("neither", "events=gc")  # what is on whatever the kinds
    any_agent = Variant("an agent that is told nothing", floor="hook")
    threads = Variant("threads", "events=threads")
    again = (others, Variant("classes and details", "events=classes+details"), Variant("methods", "events=methods"))
    other_agent = ("-javaagent:{work}/" + OTHER_AGENT,)
    return [
        case("thread started and joined", "thread", 4_000, others, threads, batches=10, together=True),
        case("virtual thread started and ended", "virtual", 200_000, others, threads, batches=10, since=21, jvm=one_carrier),
        case("virtual thread leaves and takes its carrier", "yield", 800_000, any_agent, others, threads,
             Variant("threads and mounts", "events=threads+mounts"), batches=10, since=21, jvm=one_carrier),
        case("class loaded", "load", 4_000, others, Variant("classes", "events=classes"),
             Variant("classes and details", "events=classes+details"), batches=8),
        case("class redefined by another agent", "redefine", 1_000, *again, batches=8, jvm=other_agent),
        case("class retransformed by another agent", "retransform", 1_000, *again, batches=8, jvm=other_agent),
        case("method compiled", "compile", 1_000, Variant("jit", "events=jit"), batches=6, per=1_000 * (METHODS + 2),
             jvm=("-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:-Inline", "-XX:ReservedCodeCacheSize=240m",
                  "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,BenchLoaded*::*")),
        case("young collection", "collect", 2_000, Variant("gc", "events=gc"), batches=8,
             jvm=("-XX:+UseSerialGC", "-Xmn4m")),
    ]


def measure(args, work, rows):
    rows.append(("What the JVM does: " + HEAD[0], *HEAD[1:]))
    pack(work)
    for home in args.jdk:
        runner = Runner(home, work)
        for case in cases():
            if runner.version >= case.since:
                prices(runner, case, args.rounds, rows)
