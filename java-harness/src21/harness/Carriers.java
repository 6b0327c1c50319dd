package harness;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads without reflection: parked in deep calls, woken by others, interrupted, and still
 * parked when the JVM ends. Argument: number of threads, default 500.
 */
public final class Carriers {
    static final AtomicInteger RELAY = new AtomicInteger();

    /** Parks in the innermost call of a recursion until its turn has come. */
    static int deep(int level, int turn) {
        if (level > 0) {
            return 1 + deep(level - 1, turn);
        }
        while (RELAY.get() < turn) {
            LockSupport.parkNanos(1_000_000);
        }
        pass();
        return 0;
    }

    static void pass() {
        RELAY.incrementAndGet();
    }

    static void interrupted() {
        try {
            Thread.sleep(1_000_000);
            throw new AssertionError("never interrupted");
        } catch (InterruptedException e) {
            pass();
        }
    }

    static void forever() {
        while (true) {
            LockSupport.park();
        }
    }

    public static void main(String[] args) throws Exception {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 500;
        int depth = 20;
        int sum = 0;
        try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
            var futures = new ArrayList<java.util.concurrent.Future<Integer>>();
            for (int i = 0; i < n; i++) {
                int turn = i;
                futures.add(pool.submit(() -> deep(depth, turn)));
            }
            for (var future : futures) {
                sum += future.get();
            }
        }
        List<Thread> sleepers = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            sleepers.add(Thread.ofVirtual().name("sleeper-", i).start(Carriers::interrupted));
        }
        for (Thread t : sleepers) {
            t.interrupt();
            t.join();
        }
        for (int i = 0; i < 10; i++) {
            Thread t = Thread.ofVirtual().name("parked-" + i).start(Carriers::forever);
            while (t.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        System.out.println("sum " + sum + " relay " + RELAY);

        Expect.Of main = Expect.program("harness.Carriers");
        main.count("<clinit>()V", 1).count("deep(II)I", (depth + 1L) * n).count("pass()V", n + 50);
        main.prefix("lambda$main$", n).count("interrupted()V", 50).count("forever()V", 10);
        Expect.fact("virtual-threads", n + 60);
        Expect.fact("open-calls", 10);
        Expect.print();
    }
}
