import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** Programs with known calls. A test calls the public methods. */
public class Samples {
    static int one() { return 1; }
    static long two() { return 2; }
    static float three() { return 3; }
    static double four() { return 4; }
    static String five() { return "5"; }
    static void six() { one(); }

    public static String returns() {
        six();
        return one() + "," + two() + "," + three() + "," + four() + "," + five();
    }

    static int fail(int depth) {
        if (depth == 0) throw new IllegalStateException();
        return fail(depth - 1) + 1;
    }

    public static int thrown() { return fail(2); }

    public static int caughtHere() {
        try {
            return fail(1);
        } catch (IllegalStateException e) {
            return one();
        }
    }

    public static int tryFinally() {
        int n = 0;
        try {
            try {
                n += fail(0);
            } finally {
                n += one();
            }
        } catch (RuntimeException e) {
            n += 10;
        }
        return n;
    }

    static int fromCatch() {
        try {
            return fail(0);
        } catch (IllegalStateException e) {
            throw new IllegalArgumentException(e);
        }
    }

    public static int rethrown() {
        try {
            return fromCatch();
        } catch (IllegalArgumentException e) {
            return -1;
        }
    }

    /** The jump at the end of the loop leads to the method's first instruction. */
    static void spin(int[] left) {
        while (left[0] > 0) left[0]--;
    }

    static int forever(int[] left) {
        for (;;) {
            if (--left[0] < 0) return one();
        }
    }

    public static int loops() {
        spin(new int[] {3});
        return forever(new int[] {2});
    }

    static int choose(int n) {
        switch (n) {
            case 1: return 10;
            case 2: return 20;
            case 3: return one();
            case 1000: return 40;
            default: return -1;
        }
    }

    static int chooseText(String s) {
        switch (s) {
            case "a": return 1;
            case "b": return 2;
            default: return 3;
        }
    }

    public static String switches() {
        return choose(1) + "," + choose(3) + "," + choose(1000) + "," + choose(7) + "," + chooseText("b") + "," + chooseText("c");
    }

    static synchronized int locked(int n) {
        if (n == 0) throw new IllegalStateException();
        return n;
    }

    static int lockedBlock(Object lock, int n) {
        synchronized (lock) {
            try {
                return locked(n);
            } catch (IllegalStateException e) {
                return fail(n);
            }
        }
    }

    public static String monitors() throws Exception {
        Object lock = new Object();
        int n = lockedBlock(lock, 5);
        try {
            n += lockedBlock(lock, 0);
        } catch (IllegalStateException e) {
            n += 100;
        }
        // If the lock is free, another thread can take it.
        Thread thread = new Thread() {
            public void run() {
                synchronized (lock) { lock.notifyAll(); }
            }
        };
        thread.start();
        thread.join(5000);
        return n + "," + thread.isAlive();
    }

    public static int lambdas() {
        IntUnaryOperator f = n -> n + one();
        return f.applyAsInt(1);
    }

    static class Resource implements AutoCloseable {
        public void close() { one(); }
    }

    public static int resources() {
        try (Resource r = new Resource()) {
            return fail(0);
        } catch (IllegalStateException e) {
            return 3;
        }
    }

    public static int recursion() { return fib(4); }

    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    static int dive(int n) { return dive(n + 1) + 1; }

    /**
     * Recurses until a StackOverflowError, which must not turn into an endless loop of failing
     * hooks.
     */
    public static String overflow() {
        try {
            dive(0);
            return "?";
        } catch (StackOverflowError e) {
            Recorder.take();
            return "overflow";
        }
    }

    static int guarded(int n) {
        try {
            return guarded(n + 1);
        } catch (IllegalStateException e) {
            return fail(0);
        } finally {
            synchronized (Samples.class) { n++; }
        }
    }

    public static String guardedOverflow() {
        try {
            guarded(0);
            return "?";
        } catch (StackOverflowError e) {
            Recorder.take();
            return "overflow";
        }
    }

    interface Shape {
        static int sides() { return one(); }
        default int area() { return one() + 1; }
    }

    static class Square implements Shape {}

    public static int interfaces() { return new Square().area() + Shape.sides(); }

    public static int lists() {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < 3; i++) list.add(fib(i));
        int sum = 0;
        for (int n : list) sum += n;
        return sum;
    }
}
