package harness;

import java.util.concurrent.CountDownLatch;

/**
 * Monitors and exceptions in virtual threads, arranged as in {@link Monitors}, {@link Waits} and
 * {@link Throws}. Only one virtual thread blocks at a time, so one carrier is enough. Argument:
 * rounds, default 20.
 */
public final class VirtualMonitors {
    static final class Lock {}

    static final class HeldByVirtual {}

    static final class Notified {
        boolean open;
    }

    static final class TimedOut {}

    static final class Failure extends Exception {
        private static final long serialVersionUID = 1;
    }

    static final class Uncaught extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    static int entered;

    static void enter(Object lock) {
        synchronized (lock) {
            entered++;
        }
    }

    static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void awaitState(Thread t, Thread.State state) throws InterruptedException {
        while (t.getState() != state) {
            Thread.sleep(1);
        }
    }

    /** Blocks a virtual thread on a monitor that a platform thread holds. */
    static void contend() throws InterruptedException {
        Lock lock = new Lock();
        Thread blocked;
        synchronized (lock) {
            blocked = Thread.ofVirtual().name("blocked").start(() -> enter(lock));
            awaitState(blocked, Thread.State.BLOCKED);
            // The blocked thread may still run an agent's callback, which may ask for the monitor's
            // owner. Until the callback has ended, the monitor must be held.
            ExpectEvents.awaitIdle();
        }
        blocked.join();
    }

    /** Blocks a platform thread on a monitor that a parked virtual thread holds. */
    static void contendWithVirtual() throws InterruptedException {
        HeldByVirtual lock = new HeldByVirtual();
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Thread owner = Thread.ofVirtual().name("virtual owner").start(() -> {
            synchronized (lock) {
                held.countDown();
                await(release);
            }
        });
        held.await();
        awaitState(owner, Thread.State.WAITING);
        Thread blocked = new Thread(() -> enter(lock), "platform");
        blocked.start();
        awaitState(blocked, Thread.State.BLOCKED);
        ExpectEvents.awaitIdle();
        release.countDown();
        blocked.join();
        owner.join();
    }

    static void waitNotified(Notified monitor) {
        synchronized (monitor) {
            try {
                while (!monitor.open) {
                    monitor.wait();
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static void waitTimedOut(TimedOut monitor) {
        synchronized (monitor) {
            try {
                monitor.wait(2);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static void waits() throws InterruptedException {
        Notified monitor = new Notified();
        Thread t = Thread.ofVirtual().name("waits").start(() -> waitNotified(monitor));
        awaitState(t, Thread.State.WAITING);
        synchronized (monitor) {
            monitor.open = true;
            monitor.notifyAll();
        }
        t.join();
        Thread.ofVirtual().name("times out").start(() -> waitTimedOut(new TimedOut())).join();
    }

    static void fail(int depth) throws Failure {
        if (depth == 0) {
            throw new Failure();
        }
        Thread.yield();
        fail(depth - 1);
    }

    static void catches() {
        try {
            fail(10);
        } catch (Failure e) {
            Thread.yield();
        }
    }

    static void uncaught() {
        throw new Uncaught();
    }

    public static void main(String[] args) throws Exception {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        for (int i = 0; i < n; i++) {
            contend();
            contendWithVirtual();
            waits();
            Thread.ofVirtual().start(VirtualMonitors::catches).join();
            Thread.ofVirtual().uncaughtExceptionHandler((t, e) -> {}).start(VirtualMonitors::uncaught).join();
        }
        System.out.println("entered " + entered);
        ExpectEvents.contended(Lock.class, "main", n);
        if (Expect.feature() < 24) {
            ExpectEvents.contended(HeldByVirtual.class, "virtual owner", n);
        } else { // the owner is unmounted, and the JVM does not report such owners
            ExpectEvents.contendedOrUnnamed(HeldByVirtual.class, "virtual owner", n);
        }
        ExpectEvents.waits(Notified.class, n, 0);
        ExpectEvents.waits(TimedOut.class, n, n);
        ExpectEvents.thrown(Failure.class, n);
        ExpectEvents.caught(Failure.class, n);
        ExpectEvents.thrown(Uncaught.class, n);
        ExpectEvents.caught(Uncaught.class, 0);
        Expect.print();
    }
}
