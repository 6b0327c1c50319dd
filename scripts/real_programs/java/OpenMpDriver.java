/**
 * Methods that OpenMP threads call. These threads attach to the JVM and detach again. Arguments:
 * path of the native library, number of threads, number of rounds.
 */
public final class OpenMpDriver {
    private static native long sum(int from, int to, int threads);

    /**
     * Called by each OpenMP thread. Throws for some numbers; the native caller clears the
     * exception.
     */
    static long square(int n) {
        if (n % 1000 == 999) {
            throw new IllegalArgumentException("on purpose");
        }
        return square(n, 3);
    }

    private static long square(long n, int depth) {
        return depth == 0 ? n * n : square(n, depth - 1);
    }

    public static void main(String[] args) throws InterruptedException {
        System.load(args[0]);
        int threads = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        long total = 0;
        for (int round = 0; round < rounds; round++) {
            total += sum(round * 1000, (round + 5) * 1000, threads);
        }
        System.out.println("total " + total);
        // Java threads, each of which starts an OpenMP team of its own.
        Thread[] all = new Thread[4];
        long[] sums = new long[all.length];
        for (int i = 0; i < all.length; i++) {
            int number = i;
            all[i] = new Thread(() -> sums[number] = sum(number * 100, 9000, threads));
            all[i].start();
        }
        for (int i = 0; i < all.length; i++) {
            all[i].join();
            System.out.println("thread " + i + " " + sums[i]);
        }
    }
}
