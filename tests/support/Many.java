import java.util.concurrent.CountDownLatch;

/**
 * Threads with a known number of calls. Each thread makes one call of {@code rounds}, which calls
 * {@code outer} as often as the first argument says. Each call of {@code outer} makes three calls
 * of {@code inner}, and one of these calls {@code inner} once more.
 */
public final class Many {
    static final int THREADS = 4;
    static int[] sinks = new int[THREADS * 32];

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        CountDownLatch begin = new CountDownLatch(THREADS);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads[i] = new Thread(() -> rounds(number, rounds, begin), "many-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }

    static void rounds(int number, int rounds, CountDownLatch begin) {
        begin.countDown();
        try {
            begin.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        for (int i = 0; i < rounds; i++) {
            sinks[number * 32] += outer(i);
        }
    }

    static int outer(int n) {
        return inner(n, 0) + inner(n + 1, 0) + inner(n + 2, 1);
    }

    static int inner(int n, int deeper) {
        return deeper == 0 ? n * 31 : inner(n, deeper - 1) + 1;
    }
}
