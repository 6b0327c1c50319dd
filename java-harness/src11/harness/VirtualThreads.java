package harness;

import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Thousands of virtual threads that sleep, yield, block and change carriers between traced calls.
 * They are created by reflection, so that one class file serves every JVM. Argument: number of
 * threads, default 2000.
 */
public final class VirtualThreads {
    static final AtomicLong SUM = new AtomicLong();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Object MONITOR = new Object();

    /**
     * Has open calls across each pause. After a pause, the thread continues on whichever carrier is
     * free.
     */
    static void task(int id) {
        first(id);
        pause(id);
        middle(id, 3);
        Thread.yield();
        SUM.addAndGet(last(id));
    }

    static int first(int id) {
        return id + 1;
    }

    static void pause(int id) {
        switch (id % 4) {
            case 0:
                sleep();
                break;
            case 1:
                Thread.yield();
                break;
            case 2:
                locked(id);
                break;
            default:
                pinned(id);
        }
    }

    static void sleep() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void locked(int id) {
        LOCK.lock();
        try {
            first(id);
        } finally {
            LOCK.unlock();
        }
    }

    /** Yields with a monitor, which pins the thread to its carrier before Java 24. */
    static void pinned(int id) {
        synchronized (MONITOR) {
            Thread.yield();
            first(id);
        }
    }

    static void middle(int id, int depth) {
        if (depth == 0) {
            sleep();
        } else {
            middle(id, depth - 1);
            if (depth == 2 && id % 50 == 0) {
                try {
                    fail();
                } catch (IllegalStateException e) {
                    Thread.yield();
                }
            }
        }
    }

    static void fail() {
        Thread.yield();
        throw new IllegalStateException();
    }

    static int last(int id) {
        return id % 10;
    }

    static void nest(ExecutorService pool, CountDownLatch done) {
        pool.execute(() -> {
            first(0);
            done.countDown();
        });
    }

    public static void main(String[] args) throws Exception {
        if (Expect.feature() < 21) {
            Expect.skip("virtual threads need Java 21");
        }
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        Method make = java.util.concurrent.Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
        ExecutorService pool = (ExecutorService) make.invoke(null);
        for (int i = 0; i < n; i++) {
            int id = i;
            pool.execute(() -> task(id));
        }
        int nested = n / 10;
        CountDownLatch done = new CountDownLatch(nested);
        for (int i = 0; i < nested; i++) {
            pool.execute(() -> nest(pool, done));
        }
        done.await();
        pool.shutdown();
        Expect.same(true, pool.awaitTermination(100, TimeUnit.SECONDS));
        // One thread ends by an exception that nobody catches, and one is never started.
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        builder = type.getMethod("name", String.class).invoke(builder, "failing \u00e4");
        Thread failing = (Thread) type.getMethod("unstarted", Runnable.class)
                .invoke(builder, (Runnable) VirtualThreads::fail);
        failing.setUncaughtExceptionHandler((t, e) -> first(1));
        failing.start();
        failing.join();
        type.getMethod("unstarted", Runnable.class).invoke(builder, (Runnable) VirtualThreads::sleep);
        System.out.println("sum " + SUM);

        int[] pauses = new int[4];
        long sum = 0;
        for (int i = 0; i < n; i++) {
            pauses[i % 4]++;
            sum += i % 10;
        }
        int failures = (n + 49) / 50;
        Expect.same(sum, SUM.get());
        Expect.Of main = Expect.program("harness.VirtualThreads");
        main.count("<clinit>()V", 1).count("task(I)V", n).count("pause(I)V", n).count("last(I)I", n);
        main.count("first(I)I", n + pauses[2] + pauses[3] + nested + 1);
        main.count("sleep()V", n + pauses[0]).count("locked(I)V", pauses[2]).count("pinned(I)V", pauses[3]);
        main.count("middle(II)V", 4L * n).count("fail()V", failures + 1);
        main.count("nest(Ljava/util/concurrent/ExecutorService;Ljava/util/concurrent/CountDownLatch;)V", nested);
        main.prefix("lambda$main$", n + nested + 1).prefix("lambda$nest$", nested);
        Expect.fact("virtual-threads", n + 2 * nested + 1);
        Expect.print();
    }
}
