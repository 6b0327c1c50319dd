package harness;

import java.util.ArrayList;
import java.util.List;

/**
 * Virtual threads that burn CPU time in known proportions, and yield in between. Thread
 * {@code burns-N} does N times the work of {@code burns-1}, in callees of its own method
 * {@code burnsN}. Argument: rounds, default 800.
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

    static void burns0(int rounds) {
        burns(0, rounds);
    }

    static void burns1(int rounds) {
        burns(1, rounds);
    }

    static void burns2(int rounds) {
        burns(2, rounds);
    }

    static void burns3(int rounds) {
        burns(3, rounds);
    }

    static void burns4(int rounds) {
        burns(4, rounds);
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 800;
        for (int i = 0; i < 200; i++) {
            work(); // compiled from here on
        }
        List<Runnable> bodies =
                List.of(
                        () -> burns0(rounds),
                        () -> burns1(rounds),
                        () -> burns2(rounds),
                        () -> burns3(rounds),
                        () -> burns4(rounds));
        List<Thread> threads = new ArrayList<>();
        for (Runnable body : bodies) {
            String name = "burns-" + threads.size();
            threads.add(Thread.ofVirtual().name(name).start(body));
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("burnt");
        Expect.program("harness.BurnVirtual")
                .count("work()V", 200 + 10L * rounds)
                .count("burns(II)V", 5)
                .count("burns0(I)V", 1)
                .count("burns1(I)V", 1)
                .count("burns2(I)V", 1)
                .count("burns3(I)V", 1)
                .count("burns4(I)V", 1);
        Expect.print();
    }
}
