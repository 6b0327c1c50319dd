package harness;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Virtual threads that are created all the time, while the heap is collected several times.
 * Meanwhile one virtual thread waits, another one has not been started, and each of the two keeps
 * an object alive. Argument: number of collections.
 */
public final class UnfinishedThreads {
    static final class OnStack {
        int uses;
    }

    static final class Captured {
        int uses;
    }

    static volatile Thread made;

    public static void main(String[] args) throws Exception {
        CountDownLatch waits = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Thread waiting = Thread.ofVirtual().start(() -> {
            OnStack kept = new OnStack();
            waits.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            kept.uses++;
        });
        waits.await();
        Captured captured = new Captured();
        Thread unstarted = Thread.ofVirtual().unstarted(() -> captured.uses++);

        AtomicBoolean ends = new AtomicBoolean();
        Runnable nothing = () -> {};
        Thread[] makers = new Thread[4];
        for (int i = 0; i < makers.length; i++) {
            makers[i] = new Thread(() -> {
                while (!ends.get()) {
                    made = Thread.ofVirtual().unstarted(nothing);
                }
            });
            makers[i].start();
        }
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            System.gc();
            Thread.sleep(20);
        }
        ends.set(true);
        for (Thread maker : makers) {
            maker.join();
        }
        end.countDown();
        waiting.join();
        unstarted.start();
        unstarted.join();
        System.out.println("made");
    }
}
