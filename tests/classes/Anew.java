import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import jtrail.Trace;

/**
 * Begins and ends a trace again and again, so that its own class is made anew each time; each trace
 * has two calls. Says how many bytes of metaspace the JVM has taken after a while, and at the end.
 * No lambda: each would be a further class each time. Arguments: the trace, and how often.
 */
public final class Anew implements AutoCloseable {
    static int closed;

    @Override
    public void close() {
        closed++;
    }

    /** Its handler catches Throwable, which its code also calls. */
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
                System.gc(); // 11 keeps old code until then
            }
            if (i == times / 4 || i == times) {
                System.out.println("metaspace " + metaspace());
            }
        }
        System.out.println("closed " + closed);
    }
}
