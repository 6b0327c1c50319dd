import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

/**
 * Has the JVM do what the first argument says: start threads, load classes, collect garbage.
 * The other arguments and the output are those of BenchEvents.
 */
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

    /** Has another agent redefine or retransform a class of 10 fields and 20 methods. */
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
    /** Another agent, which provides the Instrumentation object. */
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
    /** Starts virtual threads, which JDK 21 and later have. */
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

    /** Defines BenchLoaded00000 under many names. */
    static final class Loader extends ClassLoader {
        static final String NAME = "BenchLoaded00000";
        static final byte[] BYTES = read();
        /** Offsets of the digits of the name in the class file. */
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

    /** Fills the young generation, this many times. */
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
