package harness;

import java.util.ArrayList;
import java.util.List;

/**
 * Object.wait: notified, timed out, interrupted. A thread is notified or interrupted only when it
 * is seen to wait. A wait that must not time out has a limit of ten minutes. A wait that must time
 * out is never notified. Contended enters are not expected here: a waiting thread releases the
 * monitor a moment after it is first seen to wait, so their number varies. Argument: rounds,
 * default 3.
 */
public final class Waits {
    static final class Notified {
        boolean open;
    }

    static final class All {
        boolean open;
    }

    static final class Limited {
        boolean open;
    }

    static final class TimedOut {}

    static final class Interrupted {}

    static final class Nested {}

    static int ended;

    static synchronized void end() {
        ended++;
    }

    static void awaitState(Thread t, Thread.State state) throws InterruptedException {
        while (t.getState() != state) {
            Thread.sleep(1);
        }
    }

    /** Starts threads one by one, each when the preceding one waits. */
    static List<Thread> start(int n, Thread.State state, Body body) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Thread t = new Thread(() -> {
                try {
                    body.run();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }, "waiter-" + i);
            t.start();
            awaitState(t, state);
            threads.add(t);
        }
        return threads;
    }

    interface Body {
        void run() throws InterruptedException;
    }

    static void join(List<Thread> threads) throws InterruptedException {
        for (Thread t : threads) {
            t.join();
        }
    }

    static void notified() throws InterruptedException {
        Notified monitor = new Notified();
        List<Thread> threads = start(1, Thread.State.WAITING, () -> {
            synchronized (monitor) {
                while (!monitor.open) {
                    monitor.wait();
                }
            }
        });
        synchronized (monitor) {
            monitor.open = true;
            monitor.notify();
        }
        join(threads);
    }

    static void all() throws InterruptedException {
        All monitor = new All();
        List<Thread> threads = start(3, Thread.State.WAITING, () -> {
            synchronized (monitor) {
                while (!monitor.open) {
                    monitor.wait();
                }
            }
        });
        synchronized (monitor) {
            monitor.open = true;
            monitor.notifyAll();
        }
        join(threads);
    }

    /** Waits with a limit, and is notified long before the limit. */
    static void limited() throws InterruptedException {
        Limited monitor = new Limited();
        List<Thread> threads = start(2, Thread.State.TIMED_WAITING, () -> {
            synchronized (monitor) {
                while (!monitor.open) {
                    monitor.wait(600_000);
                }
            }
        });
        synchronized (monitor) {
            monitor.open = true;
            monitor.notifyAll();
        }
        join(threads);
    }

    static void timedOut() throws InterruptedException {
        TimedOut monitor = new TimedOut();
        synchronized (monitor) {
            ExpectEvents.stack("wait", 1);
            monitor.wait(1);
            monitor.wait(5);
            monitor.wait(0, 999_999); // 1 ms in all JVMs
            synchronized (monitor) { // wait() releases both holds
                waitBelow(monitor, 20);
            }
        }
    }

    static void waitBelow(TimedOut monitor, int depth) throws InterruptedException {
        if (depth > 0) {
            waitBelow(monitor, depth - 1);
        } else {
            ExpectEvents.stack("wait", 1);
            monitor.wait(2);
        }
    }

    static void interrupted() throws InterruptedException {
        Interrupted monitor = new Interrupted();
        Body waiting = () -> {
            synchronized (monitor) {
                try {
                    ExpectEvents.stack("wait", 1);
                    monitor.wait(600_000);
                    throw new AssertionError("never notified");
                } catch (InterruptedException e) {
                    end();
                }
            }
        };
        for (Thread t : start(2, Thread.State.TIMED_WAITING, waiting)) {
            t.interrupt();
            t.join();
        }
        // The thread is interrupted before it waits, so the wait ends at once.
        synchronized (monitor) {
            Thread.currentThread().interrupt();
            try {
                monitor.wait(600_000);
                throw new AssertionError("never notified");
            } catch (InterruptedException e) {
                end();
            }
        }
    }

    /** Waits on one monitor while it holds another. */
    static void nested() throws InterruptedException {
        Nested outer = new Nested();
        TimedOut inner = new TimedOut();
        synchronized (outer) {
            synchronized (inner) {
                inner.wait(1);
            }
            outer.wait(1);
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 3;
        for (int i = 0; i < rounds; i++) {
            notified();
            all();
            limited();
            timedOut();
            interrupted();
            nested();
        }
        System.out.println("ended " + ended);
        Expect.same(3 * rounds, ended);
        ExpectEvents.waits(Notified.class, rounds, 0);
        ExpectEvents.waits(All.class, 3 * rounds, 0);
        ExpectEvents.waits(Limited.class, 2 * rounds, 0);
        ExpectEvents.waits(TimedOut.class, 5 * rounds, 5 * rounds);
        ExpectEvents.waits(Interrupted.class, 3 * rounds, 0);
        ExpectEvents.waits(Nested.class, rounds, rounds);
        ExpectEvents.waitLimit(Notified.class, 0, rounds);
        ExpectEvents.waitLimit(All.class, 0, 3 * rounds);
        ExpectEvents.waitLimit(Limited.class, 600_000, 2 * rounds);
        ExpectEvents.waitLimit(TimedOut.class, 1, 3 * rounds);
        ExpectEvents.waitLimit(TimedOut.class, 2, rounds);
        ExpectEvents.waitLimit(TimedOut.class, 5, rounds);
        ExpectEvents.waitLimit(Interrupted.class, 600_000, 3 * rounds);
        ExpectEvents.waitLimit(Nested.class, 1, rounds);
        Expect.print();
    }
}
