import java.util.concurrent.CountDownLatch;

/** Threads that call so often as is asked for: each has one call of `rounds` open, and in it as many of `outer` as the first argument says, each with three of `inner`, of which one calls once more. */
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
