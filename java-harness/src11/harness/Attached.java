package harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A program for an agent that attaches while it runs. It prints [ready], and then does the same
 * work for each line of its input, followed by [done]. It works on the main thread, on platform and
 * virtual threads that exist already, and on new ones. The expected counts do not include calls
 * that were open before the first line.
 */
public final class Attached {
    private static final int THREADS = 3;
    private static final int DEPTH = 20;
    /** Monitor on which each round waits. */
    private static final Object LOCK = new Attached();

    private Attached() {}

    /** A thread that is in calls of the program before the agent attaches. */
    private static final class Worker implements Runnable {
        final BlockingQueue<CountDownLatch> tasks = new LinkedBlockingQueue<>();
        /**
         * True if the worker waits for its tasks without giving up its processor, so that a virtual
         * thread stays on its carrier.
         */
        private final boolean spins;

        Worker(boolean spins) {
            this.spins = spins;
        }

        @Override
        public void run() {
            outer();
        }

        private void outer() {
            try {
                while (true) {
                    CountDownLatch done = next();
                    if (done.getCount() == 0) {
                        return;
                    }
                    attempt();
                    done.countDown();
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        private CountDownLatch next() throws InterruptedException {
            if (!spins) {
                return tasks.take();
            }
            while (true) {
                CountDownLatch task = tasks.poll();
                if (task != null) {
                    return task;
                }
                Thread.onSpinWait();
            }
        }
    }

    static int work(int n) {
        try {
            return n == 0 ? fail() : 1 + work(n - 1);
        } finally {
            leaf();
        }
    }

    private static int fail() {
        throw new IllegalStateException("on purpose");
    }

    private static void leaf() {}

    private static void attempt() {
        try {
            work(DEPTH);
        } catch (IllegalStateException e) {
            Expect.same("on purpose", e.getMessage());
        }
    }

    private static Thread start(Runnable body, boolean virtual) throws ReflectiveOperationException {
        if (virtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        }
        Thread thread = new Thread(body);
        thread.start();
        return thread;
    }

    private static void round(List<Worker> workers, boolean virtual) throws Exception {
        attempt();
        synchronized (LOCK) {
            LOCK.wait(1);
        }
        CountDownLatch done = new CountDownLatch(workers.size());
        for (Worker worker : workers) {
            worker.tasks.add(done);
        }
        done.await();
        start(Attached::attempt, false).join();
        if (virtual) {
            start(Attached::attempt, true).join();
        }
    }

    public static void main(String[] args) throws Exception {
        boolean virtual = Expect.feature() >= 21;
        List<Worker> workers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            for (boolean isVirtual : virtual ? new boolean[] {false, true} : new boolean[] {false}) {
                // Before 23, the scheduler of virtual threads may leave a task waiting for a
                // carrier that is kept busy (JDK-8322732).
                Worker worker = new Worker(isVirtual && i == 0 && Expect.feature() >= 23);
                workers.add(worker);
                threads.add(start(worker, isVirtual));
            }
        }
        System.out.println("[ready]");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        long rounds = 0;
        while (lines.readLine() != null) {
            round(workers, virtual);
            rounds++;
            System.out.println("[done]");
        }
        CountDownLatch over = new CountDownLatch(0);
        for (Worker worker : workers) {
            worker.tasks.add(over);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long each = virtual ? 2 : 1;
        long attempts = rounds * (1 + workers.size() + each);
        Expect.of("harness.Attached")
                .count("round(Ljava/util/List;Z)V", rounds)
                .count("start(Ljava/lang/Runnable;Z)Ljava/lang/Thread;", rounds * each)
                .count("attempt()V", attempts)
                .count("work(I)I", attempts * (DEPTH + 1))
                .count("leaf()V", attempts * (DEPTH + 1))
                .count("fail()I", attempts)
                .nested("Worker").count("next()Ljava/util/concurrent/CountDownLatch;", rounds * workers.size());
        Expect.print();
    }
}
