package harness;

/** Static initialisers: order, failure, and many threads that use the same class at once. */
public final class StaticInit {
    static int order;

    static class Parent {
        static int at = next();
    }

    static final class Child extends Parent {
        static int at = next();
    }

    interface WithDefault {
        int AT = next();

        default int touch() {
            return AT;
        }
    }

    static final class Implementer implements WithDefault {}

    static final class Fails {
        static final int NEVER = fail();

        static int fail() {
            throw new IllegalStateException("static");
        }

        static void call() {}
    }

    static final class Slow {
        static final int VALUE;

        static {
            try {
                Thread.sleep(30);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            VALUE = next();
        }

        static int value() {
            return VALUE;
        }
    }

    /** A class with a constant. Using the constant does not run the class's initialiser. */
    static final class Constant {
        static final int C = 3;
        static final Object OTHER = new Object();
    }

    static synchronized int next() {
        return ++order;
    }

    static void want() {
        Slow.value();
    }

    public static void main(String[] args) throws Exception {
        int sum = Child.at + 10 * Parent.at + 100 * new Implementer().touch() + Constant.C;
        int errors = 0;
        for (int i = 0; i < 3; i++) {
            try {
                Fails.call();
            } catch (ExceptionInInitializerError e) {
                errors += 1;
            } catch (NoClassDefFoundError e) {
                errors += 10;
            }
        }
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(StaticInit::want, "init-" + i);
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("sum " + sum + " errors " + errors + " order " + order);
        Expect.same(21, errors);

        Expect.Of main = Expect.program("harness.StaticInit");
        main.count("next()I", 4).count("want()V", 8);
        main.nested("Parent").count("<clinit>()V", 1);
        main.nested("Child").count("<clinit>()V", 1);
        main.nested("WithDefault").count("<clinit>()V", 1).count("touch()I", 1);
        main.nested("Implementer").count("<init>()V", 1);
        main.nested("Fails").count("<clinit>()V", 1).count("fail()I", 1);
        main.nested("Slow").count("<clinit>()V", 1).count("value()I", 8);
        Expect.print();
    }
}
