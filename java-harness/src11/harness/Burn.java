package harness;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;

/**
 * Methods and threads that burn CPU time. The program measures each call with the JVM's thread
 * clock. Argument: milliseconds that each method burns, default 200.
 */
public final class Burn {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final Map<String, Long> NANOS = new TreeMap<>();
    static final int THREADS = 4;
    static volatile long sink;

    interface Body {
        void run() throws InterruptedException;
    }

    static long now() {
        return CLOCK.getCurrentThreadCpuTime();
    }

    /** Does much work in few calls, so that a profiler's share of the time stays small. */
    static void spin(long ms) {
        long end = now() + ms * 1_000_000;
        while (now() < end) {
            long x = sink | 1;
            for (int i = 0; i < 100_000; i++) {
                x = x * 6364136223846793005L + 1442695040888963407L;
            }
            sink = x;
        }
    }

    static void inner(long ms) {
        spin(ms);
    }

    /** Burns a third of the time itself, and two thirds in its callees. */
    static void outer(long ms) {
        spin(ms / 3);
        timed("inner(J)V", () -> inner(ms / 3));
        timed("inner(J)V", () -> inner(ms / 3));
    }

    /** Lets time pass without using the processor. */
    static void asleep(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    /**
     * Burns CPU time on several threads, perhaps more than there are processors. The expected CPU
     * time is what each thread burns itself.
     */
    static void shared(long ms) {
        spin(ms);
    }

    /**
     * Has the system provide new memory, because CPU time includes the system's work for the
     * thread.
     */
    static void pages(long ms) {
        long end = now() + ms * 1_000_000;
        while (now() < end) {
            byte[] bytes = new byte[8 << 20];
            for (int i = 0; i < bytes.length; i += 4096) {
                bytes[i] = 1;
            }
            sink += bytes.length;
        }
    }

    static void timed(String method, Body body) {
        long before = now();
        try {
            body.run();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        long nanos = now() - before;
        synchronized (NANOS) {
            NANOS.merge("harness.Burn." + method, nanos, Long::sum);
        }
    }

    static void burner(long ms) {
        timed("shared(J)V", () -> shared(ms));
        // The thread's CPU time so far. It uses little more until it ends.
        ExpectEvents.cpuOfThread(Thread.currentThread().getName(), now());
    }

    public static void main(String[] args) throws Exception {
        if (!CLOCK.isCurrentThreadCpuTimeSupported()) {
            Expect.skip("no CPU time of threads");
        }
        long ms = args.length > 0 ? Long.parseLong(args[0]) : 200;
        spin(50); // loads and compiles what is needed, unmeasured
        timed("outer(J)V", () -> outer(3 * ms));
        timed("asleep(J)V", () -> asleep(ms));
        timed("pages(J)V", () -> pages(ms));
        report(); // loads classes now, so that the threads do not pay for them
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> burner(ms), "burner-" + i);
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("burnt");
        report();
        Expect.print();
    }

    static void report() {
        NANOS.forEach(ExpectEvents::cpu);
        NANOS.clear();
    }
}
