package harness;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Virtual threads that change carriers all the time. There are more of them than carriers, and they
 * use CPU time in calls between the changes. Prints [ready], and ends with its input.
 */
public final class Mounting {
    private static final int THREADS = 12;
    private static volatile boolean over;

    private Mounting() {}

    static long step(int n) {
        long x = n;
        for (int i = 0; i < 200; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }

    private static void work(AtomicBoolean sound) {
        long sum = 0;
        for (int n = 0; !over; n++) {
            long once = step(n);
            Thread.yield();
            sum += once - step(n);
            if (n % 64 == 0) {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        }
        if (sum != 0) {
            sound.set(false);
        }
    }

    public static void main(String[] args) throws Exception {
        AtomicBoolean sound = new AtomicBoolean(true);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = Thread.ofVirtual().name("mounting-" + i).start(() -> work(sound));
        }
        System.out.println("[ready]");
        while (System.in.read() >= 0) {}
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(sound.get() ? "[sound]" : "[wrong]");
    }
}
