package harness;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;

/**
 * CPU time, measured by the program itself with the JVM's thread clock around each call. Argument:
 * milliseconds that each method burns, default 200.
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

    /** Few calls and much work, so that a profiler's share of it stays small. */
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

    /** A third by itself and two thirds in what it calls. */
    static void outer(long ms) {
        spin(ms / 3);
        timed("inner(J)V", () -> inner(ms / 3));
        timed("inner(J)V", () -> inner(ms / 3));
    }

    /** Time passes, and the processor does nothing. */
    static void asleep(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    /** More threads than processors, perhaps: the CPU time is what each burns, not what passes. */
    static void shared(long ms) {
        spin(ms);
    }

    /** A memory's worth of work in the system: CPU time is user and system time together. */
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
        // The thread's whole life until here; little comes after it.
        ExpectEvents.cpuOfThread(Thread.currentThread().getName(), now());
    }

    public static void main(String[] args) throws Exception {
        if (!CLOCK.isCurrentThreadCpuTimeSupported()) {
            Expect.skip("no CPU time of threads");
        }
        long ms = args.length > 0 ? Long.parseLong(args[0]) : 200;
        spin(50); // what the first calls load and compile is not measured
        timed("outer(J)V", () -> outer(3 * ms));
        timed("asleep(J)V", () -> asleep(ms));
        timed("pages(J)V", () -> pages(ms));
        report(); // what the first one loads is not for the threads to pay
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
