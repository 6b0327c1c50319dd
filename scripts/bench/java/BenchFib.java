/**
 * Calls fib(32) over and over. Prints the time of one call of fib in ns: the minimum of ten
 * measurements. With a number of seconds as its argument, it is the mean over that time.
 */
public class BenchFib {
    private static final int CALLS = 7_049_155;

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    public static void main(String[] args) {
        System.out.println(args.length == 0 ? least() : mean(Long.parseLong(args[0])));
    }

    private static double least() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 10; i++) {
            long start = System.nanoTime();
            run();
            least = Math.min(least, System.nanoTime() - start);
        }
        return (double) least / CALLS;
    }

    private static double mean(long seconds) {
        for (int i = 0; i < 5; i++) {
            run();
        }
        long runs = 0;
        long time;
        long start = System.nanoTime();
        do {
            run();
            runs++;
            time = System.nanoTime() - start;
        } while (time < seconds * 1_000_000_000L);
        return (double) time / (runs * CALLS);
    }

    private static void run() {
        if (fib(32) != 2178309) {
            throw new AssertionError();
        }
    }
}
