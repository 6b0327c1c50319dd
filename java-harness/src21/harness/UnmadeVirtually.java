package harness;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Like {@link Unmade}, but virtual threads take carriers and leave them all the time. A heap walk
 * has the JVM create the eliminated objects, and for that it stops the other threads wherever they
 * are. Argument: number of collections.
 */
public final class UnmadeVirtually {
    private static final int VIRTUAL = 16;

    private static volatile long sum;

    private UnmadeVirtually() {}

    private static void sum(long more) {
        sum = more;
    }

    public static void main(String[] args) throws Exception {
        long sum = 0;
        for (int i = 0; i < 20_000; i++) {
            sum += Unmade.hold(i, 100);
        }
        CountDownLatch begun = new CountDownLatch(2);
        Thread[] threads = new Thread[2 + VIRTUAL];
        for (int i = 0; i < threads.length; i++) {
            long seed = sum + i;
            threads[i] = i < 2
                    ? Thread.ofPlatform().start(() -> {
                        begun.countDown();
                        while (!Unmade.ends) {
                            sum(Unmade.hold(seed, 100_000));
                        }
                    })
                    : Thread.ofVirtual().start(() -> {
                        while (!Unmade.ends) {
                            LockSupport.parkNanos(1);
                            Thread.yield();
                        }
                    });
        }
        begun.await();
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Thread.sleep(5);
            System.gc();
        }
        Unmade.ends = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("held");
    }
}
