package harness;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that leave their carriers a known number of times. Each is mounted once at its
 * start, and once after each sleep, park or wait on a latch. The library may mount it more often.
 * Argument: number of threads of each kind, default 50.
 */
public final class Mounts {
    static int done;

    static synchronized void end() {
        done++;
    }

    static void sleeps(int n) {
        for (int i = 0; i < n; i++) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        end();
    }

    static void parks(int n) {
        for (int i = 0; i < n; i++) {
            LockSupport.parkNanos(1_000_000);
        }
        end();
    }

    static void once() {
        end();
    }

    static void awaits(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        end();
    }

    public static void main(String[] args) throws Exception {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 50;
        List<Thread> threads = new ArrayList<>();
        CountDownLatch latch = new CountDownLatch(1);
        for (int i = 0; i < n; i++) {
            int times = i % 10;
            threads.add(Thread.ofVirtual().name("sleeps-" + i).start(() -> sleeps(times)));
            ExpectEvents.mounts("sleeps-" + i, 1 + times);
            threads.add(Thread.ofVirtual().name("parks-" + i).start(() -> parks(times)));
            ExpectEvents.mounts("parks-" + i, 1 + times);
            threads.add(Thread.ofVirtual().name("once-" + i).start(Mounts::once));
            ExpectEvents.mounts("once-" + i, 1);
            Thread waiting = Thread.ofVirtual().name("awaits-" + i).start(() -> awaits(latch));
            threads.add(waiting);
            ExpectEvents.mounts("awaits-" + i, 2);
        }
        for (Thread t : threads) {
            while (t.getName().startsWith("awaits") && t.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        latch.countDown();
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("done " + done);
        Expect.fact("virtual-threads", threads.size());
        Expect.print();
    }
}
