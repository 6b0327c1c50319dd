package harness;

import java.util.ArrayList;
import java.util.List;

/**
 * Virtual threads that burn CPU time in known proportions, and let others run in between: thread
 * {@code burns-N} does N times the work of {@code burns-1}. Argument: rounds, default 800.
 */
public final class BurnVirtual {
    static volatile long sink;

    static void work() {
        long x = sink | 1;
        for (int i = 0; i < 400_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        sink = x;
    }

    static void burns(int n, int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < n; i++) {
                work();
            }
            Thread.yield();
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 800;
        for (int i = 0; i < 200; i++) {
            work(); // compiled from here on
        }
        List<Thread> threads = new ArrayList<>();
        for (int n = 0; n <= 4; n++) {
            int times = n;
            threads.add(Thread.ofVirtual().name("burns-" + n).start(() -> burns(times, rounds)));
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("burnt");
        Expect.program("harness.BurnVirtual")
                .count("work()V", 200 + 10L * rounds)
                .count("burns(II)V", 5);
        Expect.print();
    }
}
