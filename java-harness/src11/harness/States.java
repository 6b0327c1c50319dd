package harness;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread for each state that a thread can be in. Each thread stays in its state while {@link
 * #steady} runs, in a method that has the thread's name. Argument: milliseconds that {@link
 * #steady} takes, default 300.
 */
public final class States {
    static final Object LOCK = new Object();
    static final Object CONDITION = new Object();
    static final CountDownLatch IN_USE = new CountDownLatch(1);
    static volatile boolean over;
    static long sum;

    interface Body {
        void run() throws InterruptedException;
    }

    static void blocked() {
        synchronized (LOCK) {
            sum++;
        }
    }

    static void waits() throws InterruptedException {
        synchronized (CONDITION) {
            while (!over) {
                CONDITION.wait();
            }
        }
    }

    static void waitsTimed() throws InterruptedException {
        synchronized (CONDITION) {
            while (!over) {
                CONDITION.wait(600_000);
            }
        }
    }

    static void sleeps() throws InterruptedException {
        while (!over) {
            Thread.sleep(600_000);
        }
    }

    static void parks() {
        while (!over) {
            LockSupport.park();
        }
    }

    static void parksTimed() {
        while (!over) {
            LockSupport.parkNanos(600_000_000_000L);
        }
    }

    /** Waits in java.util.concurrent.locks, as most programs do. */
    static void awaits() throws InterruptedException {
        IN_USE.await();
    }

    static void runs() {
        long own = 0;
        while (!over) {
            own++;
        }
        sum += own;
    }

    static final class Staying extends Thread {
        final Body body;
        final Thread.State state;
        /** Name of the state in a trace. */
        final String word;

        Staying(Body body, String name, Thread.State state, String word) {
            super(name);
            this.body = body;
            this.state = state;
            this.word = word;
        }

        @Override
        public void run() {
            try {
                body.run();
            } catch (InterruptedException e) {
                Expect.same(true, over);
            }
        }

        /**
         * Waits until the thread is where it will stay: twice in a row, it must be in its state and
         * in its method.
         */
        void awaitState() throws InterruptedException {
            for (int seen = 0; seen < 2; seen++) {
                Thread.sleep(1);
                StackTraceElement[] stack = getStackTrace();
                boolean isIn = false;
                for (StackTraceElement frame : stack) {
                    isIn |= frame.getMethodName().equals(getName());
                }
                if (!isIn || getState() != state) {
                    seen = -1;
                }
            }
        }
    }

    /** Waits. Samples that are taken during this call have the expected states. */
    static void steady(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    public static void main(String[] args) throws Exception {
        long ms = args.length > 0 ? Long.parseLong(args[0]) : 300;
        List<Staying> threads = new ArrayList<>();
        threads.add(new Staying(States::blocked, "blocked", Thread.State.BLOCKED, "blocked"));
        threads.add(new Staying(States::waits, "waits", Thread.State.WAITING, "waiting"));
        threads.add(new Staying(States::waitsTimed, "waitsTimed", Thread.State.TIMED_WAITING, "waiting"));
        threads.add(new Staying(States::sleeps, "sleeps", Thread.State.TIMED_WAITING, "sleeping"));
        threads.add(new Staying(States::parks, "parks", Thread.State.WAITING, "parked"));
        threads.add(new Staying(States::parksTimed, "parksTimed", Thread.State.TIMED_WAITING, "parked"));
        threads.add(new Staying(States::awaits, "awaits", Thread.State.WAITING, "parked"));
        threads.add(new Staying(States::runs, "runs", Thread.State.RUNNABLE, "runnable"));
        synchronized (LOCK) {
            for (Staying each : threads) {
                each.start();
                each.awaitState();
                ExpectEvents.state(each.getName(), each.word, each.getStackTrace()[0]);
            }
            steady(ms);
            for (Staying each : threads) {
                Expect.same(each.state, each.getState());
            }
        }
        over = true;
        IN_USE.countDown();
        synchronized (CONDITION) {
            CONDITION.notifyAll();
        }
        for (Staying each : threads) {
            LockSupport.unpark(each);
            each.interrupt();
            each.join();
        }
        System.out.println("over");
        Expect.print();
    }
}
