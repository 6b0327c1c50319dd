import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import jtrail.Trace;

/**
 * Begins and ends a trace again and again, so that this class is retransformed each time. Each
 * trace has two calls. Prints the bytes of metaspace that the JVM has committed after a while, and
 * at the end. Uses no lambda, because a lambda would be another class each time. Arguments: file of
 * the trace, number of traces.
 */
public final class Anew implements AutoCloseable {
    static int closed;

    @Override
    public void close() {
        closed++;
    }

    /**
     * Has a handler that javac generates: it catches Throwable, and calls a method of Throwable.
     */
    static void uses() {
        try (Anew resource = new Anew()) {
            closed += 2;
        }
    }

    static long metaspace() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Metaspace")) {
                return pool.getUsage().getCommitted();
            }
        }
        throw new AssertionError("no metaspace");
    }

    public static void main(String[] args) throws Exception {
        int times = Integer.parseInt(args[1]);
        for (int i = 1; i <= times; i++) {
            if (!Trace.start(args[0], "trail").isDone()) {
                throw new AssertionError("start " + i);
            }
            uses();
            if (!Trace.stop().isDone()) {
                throw new AssertionError("stop " + i);
            }
            if (i % 20 == 0) {
                System.gc(); // 11 keeps old bytecode until a collection
            }
            if (i == times / 4 || i == times) {
                System.out.println("metaspace " + metaspace());
            }
        }
        System.out.println("closed " + closed);
    }
}
