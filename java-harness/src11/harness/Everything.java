package harness;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;

/**
 * All kinds of events in random interplay, for stress tests. Arguments: seconds (2), size (50),
 * threads (8), seed (1), pause in ms after each action (0). A pause keeps traces of long runs
 * small.
 *
 * <p>The program has {@code threads} platform threads, and as many virtual ones if the JVM has
 * virtual threads. Each thread does {@code size} actions and adds up their results. It then does
 * further actions until the seconds are over. The result of an action follows from its random
 * numbers alone, and is checked. So the same size, threads and seed print the same text in every
 * JVM, with and without a profiler.
 */
public final class Everything {
    static final Object[] MONITORS = {new Object(), new int[1], new StringBuilder(), new Object()};
    static final long[] GUARDED = new long[MONITORS.length];
    static final ReentrantLock LOCK = new ReentrantLock();
    static long locked;
    static final AtomicLong ADDED = new AtomicLong();
    static final AtomicLong ACTIONS = new AtomicLong();
    static final ExecutorService POOL = Executors.newFixedThreadPool(3);
    static volatile Object sink;
    static volatile Thread[] workers = {};
    /** The method Thread.startVirtualThread; null if the JVM has no virtual threads. */
    static final Method VIRTUAL = virtual();

    /**
     * A class that is loaded by a class loader of this program, and compiled before it is unloaded.
     */
    public static final class Guest implements IntSupplier {
        static int calls;

        @Override
        public int getAsInt() {
            return ++calls;
        }
    }

    static final class GuestLoader extends ClassLoader {
        GuestLoader() {
            super(Everything.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                if (!name.equals("harness.Everything$Guest")) {
                    return super.loadClass(name, resolve);
                }
                Class<?> known = findLoadedClass(name);
                return known != null ? known : define(name);
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static final class Node {
        final Node next;
        final int value;

        Node(Node next, int value) {
            this.next = next;
            this.value = value;
        }
    }

    static final class Failure extends Exception {
        private static final long serialVersionUID = 1;
        final int value;

        Failure(int value) {
            this.value = value;
        }
    }

    private static Method virtual() {
        try {
            return Expect.feature() < 21 ? null : Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    /** Starts a virtual thread, or a platform thread if the JVM has no virtual threads. */
    static Thread startVirtual(Runnable body) throws Exception {
        if (VIRTUAL != null) {
            return (Thread) VIRTUAL.invoke(null, body);
        }
        Thread t = new Thread(body);
        t.start();
        return t;
    }

    static long allocate(int n) {
        Node list = null;
        for (int i = 0; i < n; i++) {
            list = new Node(list, i);
        }
        sink = list;
        long sum = 0;
        for (Node node = list; node != null; node = node.next) {
            sum += node.value;
        }
        return sum;
    }

    static long arrays(int n) {
        int[][] grid = new int[n][n];
        Object[] boxes = new Object[n];
        for (int i = 0; i < n; i++) {
            grid[i][n - 1 - i] = i;
            boxes[i] = i * 1000L;
        }
        sink = boxes.clone();
        sink = "text " + n;
        long sum = 0;
        for (int[] row : grid) {
            for (int cell : row.clone()) {
                sum += cell;
            }
        }
        return sum;
    }

    static long threads(int n) throws Exception {
        AtomicLong sum = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        ThreadGroup group = new ThreadGroup("group-" + n);
        for (int i = 1; i <= n; i++) {
            int value = i;
            Runnable body = () -> sum.addAndGet(allocate(value));
            Thread t = new Thread(group, body, "short-" + i);
            t.start();
            threads.add(t);
            threads.add(startVirtual(() -> {
                Thread.yield();
                body.run();
            }));
        }
        for (Thread t : threads) {
            t.join();
        }
        return sum.get();
    }

    static long load(int calls) throws Exception {
        IntSupplier guest = (IntSupplier) Class.forName("harness.Everything$Guest", true, new GuestLoader())
                .getDeclaredConstructor().newInstance();
        long last = 0;
        for (int i = 0; i < calls; i++) {
            last = guest.getAsInt();
        }
        return last;
    }

    static long collect() {
        WeakReference<Object> weak = new WeakReference<>(new Object());
        System.gc();
        sink = weak;
        return 1;
    }

    static long guarded(int which, int n) {
        synchronized (MONITORS[which]) {
            if (n % 3 == 0) {
                sink = allocate(n); // keeps other threads waiting
            }
            GUARDED[which] += n;
        }
        ADDED.addAndGet(n);
        return n;
    }

    static long waits(int which) throws InterruptedException {
        Object monitor = MONITORS[which];
        synchronized (monitor) {
            monitor.wait(1);
        }
        synchronized (monitor) {
            monitor.notifyAll();
        }
        return which;
    }

    static long parks(int n) {
        Thread[] all = workers;
        for (int i = 0; i < n; i++) {
            LockSupport.parkNanos(10_000);
            LockSupport.unpark(i < all.length ? all[i] : null);
        }
        return n;
    }

    static long lock(int n) {
        LOCK.lock();
        try {
            locked += n;
        } finally {
            LOCK.unlock();
        }
        ADDED.addAndGet(n);
        return n;
    }

    static int fail(int depth, int value) throws Failure {
        if (depth == 0) {
            throw new Failure(value);
        }
        try {
            return fail(depth - 1, value) + 1;
        } finally {
            sink = null;
        }
    }

    static long failures(int depth) {
        try {
            return fail(depth, depth);
        } catch (Failure e) {
            try {
                return new int[] {e.value}[e.value]; // here the JVM itself throws
            } catch (ArrayIndexOutOfBoundsException outside) {
                return e.value;
            }
        }
    }

    static long deep(int depth) {
        return depth == 0 ? 0 : 1 + deep(depth - 1);
    }

    static int endless(int n) {
        return endless(n + 1) + 1;
    }

    static long overflow() throws InterruptedException {
        AtomicLong caught = new AtomicLong();
        Thread t = new Thread(null, () -> {
            try {
                endless(0);
            } catch (StackOverflowError e) {
                caught.incrementAndGet();
            }
        }, "overflow", 256 << 10);
        t.start();
        t.join();
        return caught.get();
    }

    /** Mostly runs a loop, with few calls, so that a trace of many minutes stays small. */
    static long hot(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i % 16 == 0 ? twice(i) : 2L * i;
        }
        return sum;
    }

    static int twice(int n) {
        return 2 * n;
    }

    static long interrupted() {
        Thread.currentThread().interrupt();
        try {
            Thread.sleep(1000);
            return 0;
        } catch (InterruptedException e) {
            return 1;
        }
    }

    static long rename(int n) {
        Thread.currentThread().setName("worker " + n);
        return n;
    }

    static long pooled(int n) throws Exception {
        return POOL.submit(() -> allocate(n)).get();
    }

    static long reflected(int n) throws Exception {
        return (Integer) Everything.class.getDeclaredMethod("twice", int.class).invoke(null, n);
    }

    static long triangle(long n) {
        return n * (n - 1) / 2;
    }

    /** Returns the sum of the triangles of 1 to n. */
    static long tetrahedron(long n) {
        return (n + 1) * n * (n - 1) / 6;
    }

    /** Does one action. Returns its result, which depends on the random numbers only. */
    static long act(Random random) throws Exception {
        int n = 1 + random.nextInt(100);
        int which = random.nextInt(MONITORS.length);
        switch (random.nextInt(40)) {
            case 0: return same(1, collect());
            case 1: return same(1, overflow());
            case 2: case 3: return same(2 * tetrahedron(n % 4), threads(n % 4));
            case 4: case 5: return same(20L * n, load(20 * n)); // the guest is usually compiled
            case 6: case 7: return same(which, waits(which));
            case 8: case 9: return same(n % 10, parks(n % 10));
            case 10: case 11: case 12: return same(n, failures(n));
            case 13: case 14: return same(10L * n, deep(10 * n));
            case 15: case 16: return same(2 * triangle(1000L * n), hot(1000 * n));
            case 17: return same(1, interrupted());
            case 18: return same(n, rename(n));
            case 19: case 20: return same(triangle(n), pooled(n));
            case 21: case 22: return same(2L * n, reflected(n));
            case 23: case 24: return same(triangle(n), IntStream.range(0, n).parallel().sum());
            case 25: case 26: case 27: return same(n, lock(n));
            case 28: case 29: case 30: case 31: return same(triangle(n), arrays(n));
            case 32: case 33: case 34: case 35: return same(n, guarded(which, n));
            default: return same(triangle(20L * n), allocate(20 * n));
        }
    }

    static long same(long expected, long actual) {
        Expect.same(expected, actual);
        return actual;
    }

    static final AtomicLong SUM = new AtomicLong();
    static final AtomicLong WRONG = new AtomicLong();

    static void work(long seed, int size, long end, int pause) {
        Random random = new Random(seed);
        try {
            long sum = 0;
            for (int i = 0; i < size; i++) {
                sum += act(random);
            }
            SUM.addAndGet(sum);
            long more = size;
            for (; System.nanoTime() < end; more++) {
                act(random);
                Thread.sleep(pause);
            }
            ACTIONS.addAndGet(more);
        } catch (Throwable t) {
            WRONG.incrementAndGet();
            t.printStackTrace();
        }
    }

    static int argument(String[] args, int at, int other) {
        return args.length > at ? Integer.parseInt(args[at]) : other;
    }

    public static void main(String[] args) throws Exception {
        int seconds = argument(args, 0, 2);
        int size = argument(args, 1, 50);
        int threads = argument(args, 2, 8);
        int seed = argument(args, 3, 1);
        int pause = argument(args, 4, 0);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        Thread[] all = new Thread[2 * threads];
        for (int i = 0; i < all.length; i++) {
            long own = seed * 1_000_003L + i;
            Runnable body = () -> work(own, size, end, pause);
            if (i < threads) {
                all[i] = new Thread(body, "worker-" + i);
                all[i].start();
            } else {
                all[i] = startVirtual(body);
            }
        }
        workers = all.clone();
        for (Thread t : all) {
            t.join();
        }
        POOL.shutdown();
        long guarded = locked;
        for (long each : GUARDED) {
            guarded += each;
        }
        Expect.same(ADDED.get(), guarded);
        // The total number of actions depends on the time.
        Expect.same(true, ACTIONS.get() >= (long) size * all.length);
        System.out.println("seed " + seed + " size " + size + " threads " + threads);
        System.out.println("sum " + SUM + " wrong " + WRONG);
        Expect.same(0L, WRONG.get());
    }
}
