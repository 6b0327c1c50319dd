package harness;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * LockSupport.park in all its forms, called by the program itself: each call is one park, whatever
 * wakes the thread. Then the constructs of java.util.concurrent: each thread is released only when
 * it is seen to wait, so it parks at least once. How often it parks is up to the library.
 */
public final class Parks {
    static final class Blocker {}

    interface Body {
        void run() throws Exception;
    }

    static void nanos(int n) {
        for (int i = 0; i < n; i++) {
            LockSupport.parkNanos(1_000);
        }
    }

    static void blockerNanos(Blocker blocker, int n) {
        for (int i = 0; i < n; i++) {
            ExpectEvents.stack("park", 1);
            LockSupport.parkNanos(blocker, 1_000);
        }
    }

    /**
     * Parks until a time that is long past. The calls return at once, but are parks all the same.
     */
    static void until(Blocker blocker, int n) {
        for (int i = 0; i < n; i++) {
            LockSupport.parkUntil(1);
            LockSupport.parkUntil(blocker, 1);
        }
    }

    /** Parks while the permit is available. The calls return at once. */
    static void permitted(Blocker blocker, int n) {
        for (int i = 0; i < n; i++) {
            LockSupport.unpark(Thread.currentThread());
            LockSupport.park();
            LockSupport.unpark(Thread.currentThread());
            LockSupport.park(blocker);
        }
    }

    /**
     * Parks while the thread is interrupted. It does not sleep, but the calls are parks all the
     * same.
     */
    static void interrupted(int n) {
        Thread.currentThread().interrupt();
        for (int i = 0; i < n; i++) {
            LockSupport.park();
        }
        Expect.same(true, Thread.interrupted());
    }

    static void below(int depth) {
        if (depth > 0) {
            below(depth - 1);
        } else {
            ExpectEvents.stack("park", 1);
            LockSupport.parkNanos(1_000);
        }
    }

    /** Parks until another thread unparks this one. */
    static void once(Blocker blocker) {
        ExpectEvents.stack("park", 1);
        LockSupport.park(blocker);
    }

    static final ReentrantLock LOCK = new ReentrantLock();
    static final Condition CONDITION = LOCK.newCondition();
    static final CountDownLatch LATCH = new CountDownLatch(1);
    static final SynchronousQueue<Integer> HAND_OVER = new SynchronousQueue<>();
    static final LinkedBlockingQueue<Integer> QUEUE = new LinkedBlockingQueue<>();
    static final Semaphore SEMAPHORE = new Semaphore(0);
    static final CompletableFuture<Integer> FUTURE = new CompletableFuture<>();

    static void lock() {
        LOCK.lock();
        LOCK.unlock();
    }

    static void condition() throws InterruptedException {
        LOCK.lock();
        try {
            CONDITION.await();
        } finally {
            LOCK.unlock();
        }
    }

    /**
     * Signals when {@code n} threads wait. A thread that sleeps may still be waiting for the lock,
     * and would miss the signal.
     */
    static void signal(int n) throws InterruptedException {
        LOCK.lock();
        while (LOCK.getWaitQueueLength(CONDITION) < n) {
            LOCK.unlock();
            Thread.sleep(1);
            LOCK.lock();
        }
        CONDITION.signalAll();
        LOCK.unlock();
    }

    static void latch() throws InterruptedException {
        LATCH.await();
    }

    static void handOver() throws InterruptedException {
        Expect.same(1, HAND_OVER.take());
    }

    static void queue() throws InterruptedException {
        Expect.same(2, QUEUE.take());
    }

    static void semaphore() throws InterruptedException {
        SEMAPHORE.acquire();
    }

    static void future() throws Exception {
        Expect.same(3, FUTURE.get());
    }

    /**
     * Runs the body on {@code n} threads, and runs the release when all of them are seen to wait.
     */
    static void released(int n, Body body, Body release) throws Exception {
        Thread[] threads = new Thread[n];
        for (int i = 0; i < n; i++) {
            threads[i] = new Thread(() -> {
                try {
                    body.run();
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            }, "parked-" + i);
            threads[i].start();
        }
        for (Thread t : threads) {
            while (t.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        release.run();
        for (Thread t : threads) {
            t.join();
        }
    }

    public static void main(String[] args) throws Exception {
        int n = 100;
        Blocker blocker = new Blocker();
        nanos(n);
        blockerNanos(blocker, n);
        until(blocker, n);
        permitted(blocker, n);
        interrupted(n);
        below(20);
        for (int i = 0; i < 5; i++) {
            Thread t = new Thread(() -> once(blocker), "once-" + i);
            t.start();
            while (LockSupport.getBlocker(t) != blocker || t.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
            LockSupport.unpark(t);
            t.join();
        }
        LOCK.lock();
        released(3, Parks::lock, LOCK::unlock);
        released(2, Parks::condition, () -> signal(2));
        released(3, Parks::latch, LATCH::countDown);
        released(1, Parks::handOver, () -> HAND_OVER.put(1));
        released(1, Parks::queue, () -> QUEUE.put(2));
        released(2, Parks::semaphore, () -> SEMAPHORE.release(2));
        released(2, Parks::future, () -> FUTURE.complete(3));
        System.out.println("parked");

        exact("nanos(I)V", n);
        exact("blockerNanos(Lharness/Parks$Blocker;I)V", n);
        exact("until(Lharness/Parks$Blocker;I)V", 2 * n);
        exact("permitted(Lharness/Parks$Blocker;I)V", 2 * n);
        exact("interrupted(I)V", n);
        exact("below(I)V", 1);
        exact("once(Lharness/Parks$Blocker;)V", 5);
        atLeast("lock()V", 3);
        atLeast("condition()V", 2);
        atLeast("latch()V", 3);
        atLeast("handOver()V", 1);
        atLeast("queue()V", 1);
        atLeast("semaphore()V", 2);
        atLeast("future()V", 2);
        Expect.print();
    }

    static void exact(String method, long n) {
        ExpectEvents.parks("harness.Parks." + method, n);
    }

    static void atLeast(String method, long n) {
        ExpectEvents.parks("harness.Parks." + method, n, 1000 * n);
    }
}
