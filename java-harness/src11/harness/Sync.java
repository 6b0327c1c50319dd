package harness;

import java.util.ArrayDeque;

/** Monitors: synchronized methods and blocks, exceptions that leave them, wait and notify. */
public final class Sync {
    private final ArrayDeque<Integer> queue = new ArrayDeque<>();
    private static int shared;

    synchronized void put(int value) throws InterruptedException {
        while (queue.size() == 4) {
            wait();
        }
        queue.add(value);
        notifyAll();
    }

    synchronized int take() throws InterruptedException {
        while (queue.isEmpty()) {
            wait();
        }
        int value = queue.remove();
        notifyAll();
        return value;
    }

    static synchronized int add(int n) {
        if (n % 10 == 0) {
            throw new IllegalArgumentException("tenth");
        }
        return shared += n;
    }

    int nested(Object a, Object b, int n) {
        synchronized (a) {
            synchronized (b) {
                if (n == 0) {
                    throw new IllegalStateException("inside");
                }
                return leaf(n);
            }
        }
    }

    static int leaf(int n) {
        return n + 1;
    }

    /** Holds a monitor until another thread blocks on it, so that one contention is certain. */
    static void contend() throws InterruptedException {
        Object lock = new Object();
        Thread other = new Thread(() -> enter(lock), "contender");
        synchronized (lock) {
            other.start();
            while (other.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
        }
        other.join();
    }

    static void enter(Object lock) {
        synchronized (lock) {
            leaf(0);
        }
    }

    static void waitOnce() throws InterruptedException {
        Object lock = new Object();
        synchronized (lock) {
            lock.wait(5);
        }
    }

    static int consume(Sync s, int n) {
        int sum = 0;
        try {
            for (int i = 0; i < n; i++) {
                sum += s.take();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int n = 2000;
        Sync s = new Sync();
        int[] sums = new int[2];
        Thread[] consumers = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int at = i;
            consumers[i] = new Thread(() -> sums[at] = consume(s, n / 2), "consumer-" + i);
            consumers[i].start();
        }
        for (int i = 0; i < n; i++) {
            s.put(i);
        }
        for (Thread t : consumers) {
            t.join();
        }
        int failed = 0;
        for (int i = 0; i < 100; i++) {
            try {
                add(i);
            } catch (IllegalArgumentException e) {
                failed++;
            }
            try {
                s.nested(s, Sync.class, i % 5);
            } catch (IllegalStateException e) {
                failed++;
            }
        }
        contend();
        waitOnce();
        System.out.println("sum " + (sums[0] + sums[1]) + " shared " + shared + " failed " + failed);
        Expect.same(n * (n - 1) / 2, sums[0] + sums[1]);

        Expect.Of main = Expect.program("harness.Sync");
        main.count("<init>()V", 1).count("put(I)V", n).count("take()I", n);
        main.count("consume(Lharness/Sync;I)I", 2).prefix("lambda$", 3);
        main.count("add(I)I", 100).count("leaf(I)I", 80 + 1);
        main.count("nested(Ljava/lang/Object;Ljava/lang/Object;I)I", 100);
        main.count("contend()V", 1).count("enter(Ljava/lang/Object;)V", 1).count("waitOnce()V", 1);
        Expect.fact("contended", 1);
        Expect.fact("timed-waits", 1);
        Expect.print();
    }
}
