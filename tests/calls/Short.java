import java.util.ArrayList;
import java.util.List;

/**
 * Many short calls, and a few long ones. With an argument, the program never ends, and prints how
 * many short calls it has made.
 */
public class Short {
    static int quick(int n) {
        return inner(n) + inner(n + 1);
    }

    static int inner(int n) {
        return n * 31 + 7;
    }

    static void sleeps(int ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    static int sum;

    static void round(int quick) throws InterruptedException {
        for (int i = 0; i < quick; i++) {
            sum += quick(i);
        }
        sleeps(5);
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = 3;
        int rounds = 20;
        int quick = 5000;
        if (args.length > 0) {
            for (long rounded = 1;; rounded++) {
                round(quick);
                if (rounded % 50 == 0) {
                    System.out.println("[counted " + rounded * quick + "]");
                }
            }
        }
        List<Thread> all = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            Thread thread = new Thread(() -> {
                try {
                    for (int round = 0; round < rounds; round++) {
                        round(quick);
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            all.add(thread);
            thread.start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println("FACT sleeps " + threads * rounds);
        System.out.println("FACT quick " + threads * rounds * quick);
    }
}
