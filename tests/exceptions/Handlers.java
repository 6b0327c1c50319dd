/**
 * Exception handlers of all kinds. Prints which ones ran: method, first entry in the exception
 * table, and whether the handler takes all exceptions.
 */
public class Handlers {
    private static int calls;
    private static final Object LOCK = new Object();

    private static final class Resource implements AutoCloseable {
        @Override
        public void close() {
            throw new ArithmeticException("close");
        }
    }

    public static void main(String[] args) {
        // Several rounds, because methods may be compiled in between.
        for (int round = 0; round < 3; round++) {
            typed();
            second();
            either();
            afterEither();
            anything();
            quietly(Handlers::last);
            quietly(Handlers::between);
            quietly(Handlers::guarded);
            quietly(Handlers::nested);
            quietly(Handlers::around);
            quietly(() -> new Handlers(round()));
            resource();
            wide();
        }
    }

    private static int round() {
        return calls;
    }

    private static void fail() {
        calls++;
        throw new IllegalStateException();
    }

    private static void expected(String method, int entry, boolean takesAll) {
        System.out.println("handler " + method + " " + entry + " " + takesAll);
    }

    private static void quietly(Runnable code) {
        try {
            code.run();
        } catch (IllegalStateException e) {
            expected("quietly", 0, false);
        }
    }

    /** A constructor whose handler follows a call of {@code super}. */
    private Handlers(int number) {
        super();
        try {
            if (number > 0) {
                fail();
            }
        } finally {
            expected("<init>", 0, true);
        }
    }

    private static void typed() {
        try {
            fail();
        } catch (IllegalStateException e) {
            expected("typed", 0, false);
        }
    }

    private static void second() {
        try {
            fail();
        } catch (ArithmeticException e) {
            throw new AssertionError(e);
        } catch (IllegalStateException e) {
            expected("second", 1, false);
        }
    }

    private static void either() {
        try {
            fail();
        } catch (ArithmeticException | IllegalStateException e) {
            expected("either", 0, false);
        }
    }

    private static void afterEither() {
        try {
            fail();
        } catch (ArithmeticException | ClassCastException e) {
            throw new AssertionError(e);
        } catch (RuntimeException e) {
            expected("afterEither", 2, false);
        }
    }

    private static void anything() {
        try {
            fail();
        } catch (Throwable e) {
            expected("anything", 0, false);
        }
    }

    private static void last() {
        try {
            fail();
        } finally {
            expected("last", 0, true);
        }
    }

    /**
     * The handler of finally has the second entry of the exception table, after that of the catch
     * clause.
     */
    private static void between() {
        try {
            fail();
        } catch (ArithmeticException e) {
            throw new AssertionError(e);
        } finally {
            expected("between", 1, true);
        }
    }

    private static void guarded() {
        try {
            lock();
        } catch (IllegalStateException e) {
            expected("lock", 0, true);
            expected("guarded", 0, false);
        }
    }

    private static void lock() {
        synchronized (LOCK) {
            fail();
        }
    }

    private static void nested() {
        try {
            try {
                fail();
            } catch (IllegalStateException e) {
                expected("nested", 0, false);
                fail();
            }
        } finally {
            expected("nested", 1, true);
        }
    }

    private static void around() {
        for (int i = 0; i < 2; i++) {
            try {
                fail();
            } catch (IllegalStateException e) {
                expected("around", 0, false);
            }
        }
        try {
            fail();
        } catch (IllegalStateException e) {
            expected("around", 1, false);
        }
    }

    private static void resource() {
        try (Resource resource = new Resource()) {
            fail();
        } catch (IllegalStateException e) {
            expected("resource", 0, false); // closes the resource
            expected("resource", 1, false); // adds the exception of close()
            expected("resource", 2, false);
        }
    }

    /** A method whose handler is far from the start of the code. */
    private static void wide() {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            switch (i) {
                case 0:
                    sum += calls;
                    break;
                case 1:
                    sum -= calls * 3;
                    break;
                default:
                    int[] numbers = {sum, calls, i, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
                    sum += numbers[i];
            }
        }
        try {
            calls += sum;
            fail();
        } catch (IllegalStateException e) {
            expected("wide", 0, false);
        }
    }
}
