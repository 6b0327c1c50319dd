import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/**
 * Initialises classes in all ways. Prints the begins and ends of their initialisers, in order for
 * each thread: thread, "begin" or "end", class, nanoseconds of the JVM's clock, and whether the
 * initialiser has failed. With an argument, it first loads all of the classes, and waits for a line
 * of input.
 */
public final class Initialised {
    private static final List<String> DONE = new CopyOnWriteArrayList<>();

    static int begin(String name) {
        DONE.add(Thread.currentThread().getName() + " begin " + name + " " + System.nanoTime() + " false");
        return 1;
    }

    static int end(String name) {
        return end(name, false);
    }

    private static int end(String name, boolean failed) {
        DONE.add(Thread.currentThread().getName() + " end " + name + " " + System.nanoTime() + " " + failed);
        return 2;
    }

    static int failing(String name) {
        end(name, true);
        throw new IllegalStateException(name);
    }

    /** A class with nothing to initialise: its constant is a compile-time constant. */
    static final class Empty {
        static final int CONSTANT = 7;

        static int use() {
            return CONSTANT;
        }
    }

    static class Base {
        static final int FIRST = begin("Base");
        static final int LAST = end("Base");
    }

    interface WithDefault {
        int FIRST = begin("WithDefault");
        int LAST = end("WithDefault");

        default int value() {
            return LAST;
        }
    }

    interface WithoutDefault {
        int FIRST = begin("WithoutDefault");
        int LAST = end("WithoutDefault");
    }

    /**
     * A class whose superclass and first interface are initialised before it, not within its
     * initialiser.
     */
    static final class Derived extends Base implements WithDefault, WithoutDefault {
        static final int FIRST_OF_IT = begin("Derived");
        static final int LAST_OF_IT = end("Derived");
    }

    static final class Outer {
        static final int FIRST = begin("Outer");
        static final int INNER = Inner.LAST + pause();
        static final int LAST = end("Outer");

        private static int pause() {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return 0;
        }
    }

    /** A class that uses the class which initialises it. This runs no initialiser again. */
    static final class Inner {
        static final int FIRST = begin("Inner");
        static final int OUTER = Outer.INNER;
        static final int LAST = end("Inner");
    }

    static final class Failing {
        static final int FIRST = begin("Failing");
        static final int LAST = failing("Failing");
    }

    static final class Catching {
        static final int FIRST = begin("Catching");

        static {
            for (int times = 0; times < 2; times++) {
                try {
                    System.out.println(Failing.LAST);
                } catch (ExceptionInInitializerError | NoClassDefFoundError e) {
                    System.out.println(e.getClass().getName());
                }
            }
        }

        static final int LAST = end("Catching");
    }

    /** A class whose initialiser has an exit in a loop, and handlers. */
    static final class Busy {
        static final int FIRST = begin("Busy");
        static int found;

        static {
            for (int at = 0; ; at++) {
                try {
                    if (Integer.parseInt(at < 50 ? "x" : "1") == 1) {
                        break;
                    }
                } catch (NumberFormatException e) {
                    found++;
                }
            }
        }

        static final int LAST = end("Busy");
    }

    enum Colour {
        RED, GREEN;

        static final int FIRST = begin("Colour");
        static final Runnable NONE = () -> { };
        static final int LAST = end("Colour");
    }

    /** A class that two threads use at once, so that one waits for the other. */
    static final class Shared {
        static final int FIRST = begin("Shared");
        static final int OUTER = Outer.pause();
        static final int LAST = end("Shared");
    }

    public static void main(String[] args) throws Exception {
        List<Class<?>> loaded = new CopyOnWriteArrayList<>();
        for (String name : List.of("Empty", "Derived", "Outer", "Inner", "Failing", "Catching", "Busy", "Colour", "Shared")) {
            loaded.add(Class.forName("Initialised$" + name, false, Initialised.class.getClassLoader()));
        }
        System.out.println("ready");
        if (args.length > 0) {
            new BufferedReader(new InputStreamReader(System.in)).readLine();
        }
        System.out.println(Empty.use() + Derived.LAST_OF_IT + Outer.LAST + Catching.LAST + Busy.LAST + new Derived().value());
        CountDownLatch started = new CountDownLatch(2);
        Runnable work = () -> {
            started.countDown();
            try {
                started.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            if (Shared.LAST != 2 || Colour.LAST != 2 || WithoutDefault.LAST != 2) {
                throw new AssertionError();
            }
        };
        Thread[] threads = {new Thread(work, "first"), new Thread(work, "second")};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        DONE.forEach(line -> System.out.println("init " + line));
    }
}
