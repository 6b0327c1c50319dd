package harness;

import java.util.concurrent.CountDownLatch;

/**
 * Objects that compiled code eliminates. Two threads each hold the fields of one in registers while
 * garbage is collected several times. Argument: number of collections.
 */
public final class Unmade {
    static final class Pair {
        final long first;
        final long second;

        Pair(long first, long second) {
            this.first = first;
            this.second = second;
        }
    }

    /** The JVM compiles the method after fewer calls than this. */
    private static final int CALLS = 20_000;

    static volatile boolean ends;

    static long hold(long seed, long rounds) {
        Pair pair = new Pair(seed, seed + 1);
        long sum = 0;
        for (long i = 0; i < rounds && !ends; i++) {
            sum += i;
        }
        return sum + pair.first * pair.second;
    }

    public static void main(String[] args) throws Exception {
        long sum = 0;
        for (int i = 0; i < CALLS; i++) {
            sum += hold(i, 100);
        }
        CountDownLatch begun = new CountDownLatch(2);
        Thread[] holders = new Thread[2];
        for (int i = 0; i < holders.length; i++) {
            long seed = sum + i;
            holders[i] = new Thread(() -> {
                begun.countDown();
                hold(seed, Long.MAX_VALUE);
            });
            holders[i].start();
        }
        begun.await();
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Thread.sleep(50);
            System.gc();
        }
        ends = true;
        for (Thread holder : holders) {
            holder.join();
        }
        System.out.println("held");
    }
}
