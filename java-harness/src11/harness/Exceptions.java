package harness;

import java.io.Closeable;
import java.io.IOException;

/** Methods that end by an exception, in all ways that the language has. */
public final class Exceptions {
    static final class Mine extends Exception {
        Mine(String message, Throwable cause) {
            super(message, cause);
        }
    }

    static final class Resource implements Closeable {
        final boolean failing;

        Resource(boolean failing) {
            this.failing = failing;
        }

        @Override
        public void close() throws IOException {
            if (failing) {
                throw new IOException("close");
            }
        }
    }

    static int thrower(int n) throws Mine {
        if (n % 2 == 0) {
            throw new Mine("even", null);
        }
        return n;
    }

    static int local(int n) {
        try {
            return thrower(n);
        } catch (Mine e) {
            return -1;
        }
    }

    static int pass(int n) throws Mine {
        return thrower(n) + 1;
    }

    static int withFinally(int n) throws Mine {
        try {
            return pass(n);
        } finally {
            clean();
        }
    }

    static void clean() {}

    /** A return in finally swallows the exception. */
    @SuppressWarnings("finally")
    static int swallow(int n) {
        try {
            return pass(n);
        } catch (Mine e) {
            throw new IllegalStateException(e);
        } finally {
            return n;
        }
    }

    static int rethrow(int n) throws Mine {
        try {
            return withFinally(n);
        } catch (Mine e) {
            throw new Mine("again", e);
        }
    }

    static int nested(int n) {
        try {
            try {
                try {
                    return rethrow(n);
                } finally {
                    clean();
                }
            } catch (Mine e) {
                return pass(n + 1) + local(n);
            }
        } catch (Mine never) {
            throw new AssertionError(never);
        }
    }

    static int resources(boolean body, boolean close) {
        try (Resource a = new Resource(close);
                Resource b = new Resource(false)) {
            if (body) {
                throw new IllegalStateException("body");
            }
            return 0;
        } catch (IllegalStateException e) {
            return 1 + e.getSuppressed().length;
        } catch (IOException e) {
            return 10;
        }
    }

    /** Makes the JVM itself throw exceptions, in the middle of expressions. */
    static int implicit(int kind) {
        int[] none = null;
        Object text = "text";
        switch (kind) {
            case 0:
                return none.length;
            case 1:
                return new int[1][2][0].length / (kind - 1);
            case 2:
                return new int[2][kind].length + new int[1][kind + 5][2].length + new int[kind][kind][7].length;
            case 3:
                return ((Integer) text) + 1;
            case 4:
                return new int[3 - 2 * kind].length;
            case 5:
                Object[] objects = new String[1];
                objects[0] = kind;
                return 0;
            case 6:
                synchronized (none) {
                    return 1;
                }
            default:
                return kind;
        }
    }

    static int unwind(int depth) throws Mine {
        if (depth == 0) {
            throw new Mine("deep", null);
        }
        return unwind(depth - 1) + 1;
    }

    static int catchAll(int n) {
        try {
            return implicit(n);
        } catch (Throwable t) {
            return t.getClass().getSimpleName().length();
        }
    }

    /**
     * The range of the handler contains the handler itself, as javac generates it for synchronized
     * and finally.
     */
    static long loop(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            try {
                if (i % 3 == 0) {
                    continue;
                }
                sum += local(i);
                if (i % 7 == 0) {
                    break;
                }
            } finally {
                clean();
            }
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int n = 1000;
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += local(i);
            sum += swallow(i);
            sum += nested(i);
            sum += resources(i % 2 == 0, i % 3 == 0);
            sum += catchAll(i % 8);
        }
        for (int i = 0; i < 10; i++) {
            try {
                unwind(100);
            } catch (Mine e) {
                sum += e.getStackTrace().length > 100 ? 1 : 0;
            }
        }
        sum += loop(50);
        System.out.println("sum " + sum);

        int half = n / 2;
        Expect.Of main = Expect.program("harness.Exceptions");
        main.count("swallow(I)I", n).count("nested(I)I", n).count("rethrow(I)I", n);
        main.count("withFinally(I)I", n);
        // loop calls local five times: it ends at i = 7, and skips 0, 3 and 6.
        main.count("local(I)I", n + half + 5).count("clean()V", 2 * n + 8);
        main.count("pass(I)I", 2 * n + half);
        main.count("thrower(I)I", n + half + 5 + 2 * n + half);
        main.count("resources(ZZ)I", n).count("catchAll(I)I", n).count("implicit(I)I", n);
        main.count("unwind(I)I", 10 * 101).count("loop(I)J", 1);
        main.nested("Resource").count("<init>(Z)V", 2 * n).count("close()V", 2 * n);
        // Five throws for each even number: in local, swallow, withFinally, rethrow, and local in
        // nested. Two in loop, for 2 and 4. Ten in unwind.
        main.nested("Mine").count("<init>(Ljava/lang/String;Ljava/lang/Throwable;)V", 5 * half + 2 + 10);

        // Four for each even number: in local, swallow, withFinally, and local in nested. Two in
        // loop, for 2 and 4.
        main.left("thrower(I)I", 4 * half + 2).left("pass(I)I", 2 * half);
        main.left("withFinally(I)I", half).left("rethrow(I)I", half);
        main.left("implicit(I)I", 6 * n / 8); // all kinds but 2 and 7
        main.left("unwind(I)I", 10 * 101);
        main.nested("Resource").left("close()V", (n + 2) / 3);
        Expect.print();
    }
}
