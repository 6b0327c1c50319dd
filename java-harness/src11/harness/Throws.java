package harness;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Exceptions thrown and caught, each way with a class of its own. Argument: rounds, default 50.
 *
 * <p>What the JVM counts: javac generates a handler for finally, for synchronized blocks and for
 * resources. The handler catches the exception and throws the same object again, so it adds one
 * catch and one throw. A synchronized method has no handler. A catch clause that does not match
 * catches nothing.
 */
public final class Throws {
    static class Failure extends Exception {
        private static final long serialVersionUID = 1;
    }

    static final class Near extends Failure {}

    static final class Far extends Failure {}

    static final class Again extends Failure {}

    static final class Cause extends Failure {}

    static final class Wrapper extends Failure {}

    static final class Finally extends Failure {}

    static final class Swallowed extends Failure {}

    static final class Block extends Failure {}

    static final class Guarded extends Failure {}

    static final class Body extends Failure {}

    static final class Close extends Failure {}

    static final class Made extends Failure {}

    static final class Reused extends Failure {}

    static final class Target extends Failure {}

    static final class Task extends Failure {}

    static final class Descent extends Failure {}

    static final class Passing extends RuntimeException {}

    static final class Uncaught extends RuntimeException {}

    static final class Initializing extends RuntimeException {}

    static int done;
    static Object object;
    static volatile int zero;

    static void near() {
        try {
            ExpectEvents.stack("throw", 2);
            ExpectEvents.mark("near", 1);
            throw new Near();
        } catch (Near e) {
            ExpectEvents.mark("near caught", -1);
            done++;
        }
    }

    static void far(int depth) throws Failure {
        if (depth == 0) {
            ExpectEvents.leaves("caught");
            ExpectEvents.stack("throw", 2);
            ExpectEvents.mark("far", 1);
            throw new Far();
        }
        try {
            far(depth - 1);
        } catch (Near | Again never) { // does not match
            throw new AssertionError(never);
        }
    }

    static void again() throws Failure {
        try {
            ExpectEvents.mark("first", 1);
            throw new Again();
        } catch (Again e) {
            ExpectEvents.mark("first caught", -1);
            ExpectEvents.leaves("caught");
            ExpectEvents.mark("again", 1);
            throw e;
        }
    }

    static void wrapped() throws Failure {
        try {
            throw new Cause();
        } catch (Cause e) {
            ExpectEvents.mark("cause caught", -1);
            Wrapper wrapper = new Wrapper();
            wrapper.initCause(e);
            ExpectEvents.leaves("caught");
            ExpectEvents.mark("wrapper", 1);
            throw wrapper;
        }
    }

    static void throughFinally() throws Failure {
        try {
            ExpectEvents.leaves("caught");
            ExpectEvents.mark("finally", 1);
            throw new Finally();
        } finally {
            ExpectEvents.mark("finally caught", 0);
            done++;
        }
    }

    @SuppressWarnings("finally")
    static void swallowed() {
        try {
            throw new Swallowed();
        } finally {
            ExpectEvents.mark("swallowed caught", 0);
            return;
        }
    }

    static void block(Object lock) throws Failure {
        synchronized (lock) {
            ExpectEvents.leaves("caught");
            ExpectEvents.mark("block caught", 3); // where the block ends
            ExpectEvents.mark("block", 1);
            throw new Block();
        }
    }

    static synchronized void guarded() throws Failure {
        ExpectEvents.leaves("caught");
        throw new Guarded();
    }

    static final class Resource implements AutoCloseable {
        final boolean failing;

        Resource(boolean failing) {
            this.failing = failing;
        }

        @Override
        public void close() throws Failure {
            if (failing) {
                ExpectEvents.leaves("resource");
                throw new Close();
            }
        }
    }

    static void resource(boolean failing) throws Failure {
        try (Resource resource = new Resource(failing)) {
            object = resource;
            ExpectEvents.mark("resource caught", -2); // exceptions of the body and of close()
            ExpectEvents.leaves("caught");
            throw new Body();
        }
    }

    static final class Never {
        Never() throws Failure {
            ExpectEvents.leaves("caught");
            throw new Made();
        }
    }

    static class Ancestor {
        Ancestor(boolean failing) throws Failure {
            if (failing) {
                ExpectEvents.leaves("caught");
                throw new Descent();
            }
        }
    }

    /**
     * A class whose constructors are left by exceptions: from super(), from this(), and from the
     * arguments of each of the two calls.
     */
    static final class Heir extends Ancestor {
        Heir() throws Failure {
            super(true);
        }

        Heir(String text) throws Failure {
            this();
            done += text.length();
        }

        Heir(int n) throws Failure {
            super(argument(n));
        }

        static boolean argument(int n) throws Failure {
            if (n > 0) {
                ExpectEvents.leaves("caught");
                throw new Descent();
            }
            return false;
        }
    }

    static final Reused REUSED = new Reused();

    static void reused() throws Failure {
        ExpectEvents.leaves("caught");
        throw REUSED;
    }

    /** Called by reflection. */
    public static void target() throws Failure {
        ExpectEvents.leaves("reflected");
        throw new Target();
    }

    static void reflected(Method method) throws Exception {
        try {
            method.invoke(null, (Object[]) null);
        } catch (InvocationTargetException e) {
            ExpectEvents.mark("reflected caught", -1);
            Expect.same(Target.class, e.getCause().getClass());
            done++;
        }
    }

    static void task() throws Exception {
        FutureTask<Object> task = new FutureTask<>(() -> {
            ExpectEvents.leaves("task");
            throw new Task();
        });
        task.run();
        try {
            task.get();
        } catch (ExecutionException e) {
            ExpectEvents.mark("task caught", -1);
            done++;
        }
    }

    static void passing(List<Integer> list) {
        try {
            list.forEach(n -> {
                ExpectEvents.leaves("passing");
                throw new Passing();
            });
        } catch (Passing e) {
            ExpectEvents.mark("passing caught", -1);
            done++;
        }
    }

    static void library() throws Exception {
        try {
            Class.forName("harness.NoSuchClass");
        } catch (ClassNotFoundException e) {
            ExpectEvents.mark("no class caught", -1);
            done++;
        }
        Thread.currentThread().interrupt();
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            ExpectEvents.mark("interruption caught", -1);
            done++;
        }
    }

    static void uncaught() {
        ExpectEvents.leaves(null);
        ExpectEvents.mark("uncaught", 1);
        throw new Uncaught();
    }

    static void handle(Thread thread, Throwable e) {
        done++;
    }

    static final class Broken {
        static int value = fail();

        static int fail() {
            ExpectEvents.leaves("initialize");
            throw new Initializing();
        }
    }

    static void initialize() {
        try {
            ExpectEvents.mark("initializer", 1);
            done += Broken.value;
        } catch (ExceptionInInitializerError e) {
            ExpectEvents.mark("initializer caught", -1);
            done++;
        }
        try {
            done += Broken.value;
        } catch (NoClassDefFoundError e) {
            ExpectEvents.mark("no definition caught", -1);
            done++;
        }
    }

    static int call(Throws nothing) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("null call", 1);
        return nothing.number();
    }

    int number() {
        return done;
    }

    static int unboxed(Integer box) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("null box", 1);
        return box;
    }

    static void enter(Object lock) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("null monitor", 1);
        synchronized (lock) {
            done++;
        }
    }

    static void raise(RuntimeException e) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("null throw", 1);
        throw e;
    }

    static long divide(long n) {
        ExpectEvents.leaves("caught");
        ExpectEvents.stack("throw", 2);
        ExpectEvents.mark("divide", 1);
        return n / zero;
    }

    static int remainder(int n) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("remainder", 1);
        return n % zero;
    }

    static void size(int n) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("size", 1);
        object = new int[n];
    }

    static void memory() {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("memory", 1);
        object = new long[Integer.MAX_VALUE];
    }

    static int deepest;

    static int down(int n) {
        deepest = n;
        return down(n + 1) + 1;
    }

    interface Action {
        void run() throws Exception;
    }

    /** Catches everything that is not caught further down. */
    static void caught(Class<?> type, Action action) {
        try {
            action.run();
            throw new AssertionError("no exception");
        } catch (Throwable t) {
            ExpectEvents.mark("caught", -1);
            Expect.same(type, t.getClass());
            done++;
        }
    }

    static void round(Method target) throws Exception {
        near();
        caught(Far.class, () -> far(20));
        caught(Again.class, Throws::again);
        caught(Wrapper.class, Throws::wrapped);
        caught(Finally.class, Throws::throughFinally);
        swallowed();
        caught(Block.class, () -> block(new Object()));
        caught(Guarded.class, Throws::guarded);
        caught(Body.class, () -> resource(false));
        caught(Body.class, () -> resource(true));
        caught(Made.class, Never::new);
        caught(Descent.class, Heir::new);
        caught(Descent.class, () -> new Heir("text"));
        caught(Descent.class, () -> new Heir(1));
        caught(Reused.class, Throws::reused);
        reflected(target);
        task();
        passing(List.of(1, 2));
        caught(NullPointerException.class, () -> JvmThrows.length(null));
        caught(NullPointerException.class, () -> call(null));
        caught(NullPointerException.class, () -> unboxed(null));
        caught(NullPointerException.class, () -> enter(null));
        caught(NullPointerException.class, () -> raise(null));
        caught(ArrayIndexOutOfBoundsException.class, () -> JvmThrows.index(new int[3], -1));
        caught(ArrayIndexOutOfBoundsException.class, () -> JvmThrows.index(new int[3], 3));
        caught(ArithmeticException.class, () -> divide(5));
        caught(ArithmeticException.class, () -> remainder(5));
        caught(ClassCastException.class, () -> JvmThrows.cast(5));
        caught(ArrayStoreException.class, () -> JvmThrows.store(new String[1], 5));
        caught(NegativeArraySizeException.class, () -> size(-1));
    }

    public static void main(String[] args) throws Exception {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 50;
        Method target = Throws.class.getMethod("target");
        for (int i = 0; i < n; i++) {
            round(target);
        }
        library();
        initialize();
        caught(OutOfMemoryError.class, Throws::memory);
        caught(StackOverflowError.class, () -> {
            ExpectEvents.leaves("caught");
            down(1);
        });
        // The last call may have been entered without reaching its first statement.
        ExpectEvents.left("harness.Throws.down(I)I", "main", deepest, deepest + 1);
        Thread thread = new Thread(Throws::uncaught, "uncaught");
        thread.setUncaughtExceptionHandler(Throws::handle);
        thread.start();
        thread.join();
        System.out.println("done " + done);
        expect(n);
        Expect.print();
    }

    static void both(Class<?> type, long thrown, long caught) {
        ExpectEvents.thrown(type, thrown);
        ExpectEvents.caught(type, caught);
    }

    static void expect(long n) {
        both(Near.class, n, n);
        both(Far.class, n, n);
        both(Again.class, 2 * n, 2 * n);
        both(Cause.class, n, n);
        both(Wrapper.class, n, n);
        both(Finally.class, 2 * n, 2 * n);
        both(Swallowed.class, n, n);
        both(Block.class, 2 * n, 2 * n);
        both(Guarded.class, n, n);
        both(Body.class, 4 * n, 4 * n);
        both(Close.class, n, n);
        both(Made.class, n, n);
        both(Descent.class, 3 * n, 3 * n);
        both(Reused.class, n, n);
        both(Target.class, n, 0);
        both(InvocationTargetException.class, 0, n);
        both(Task.class, n, 0);
        both(ExecutionException.class, 0, n);
        both(Passing.class, n, n);
        both(ClassNotFoundException.class, 0, 1);
        both(InterruptedException.class, 0, 1);
        both(Initializing.class, 1, 0);
        both(ExceptionInInitializerError.class, 1, 1);
        both(NoClassDefFoundError.class, 1, 1);
        both(Uncaught.class, 1, 0);
        both(NullPointerException.class, 5 * n, 5 * n);
        both(ArrayIndexOutOfBoundsException.class, 2 * n, 2 * n);
        both(ArithmeticException.class, 2 * n, 2 * n);
        both(ClassCastException.class, n, n);
        both(ArrayStoreException.class, n, n);
        both(NegativeArraySizeException.class, n, n);
        both(OutOfMemoryError.class, 1, 1);
        // StackOverflowError may be thrown in a profiler's hook, and then once more.
        ExpectEvents.thrown(StackOverflowError.class, 0, 100);
        ExpectEvents.caught(StackOverflowError.class, 1);
        for (String mark : List.of("near", "far", "first", "again", "wrapper", "finally", "block", "null",
                "null call", "null box", "null monitor", "null throw", "divide", "remainder", "cast",
                "store", "size")) {
            ExpectEvents.thrownAt(mark, n);
        }
        ExpectEvents.thrownAt("index", 2 * n);
        for (String mark : List.of("uncaught", "initializer", "memory")) {
            ExpectEvents.thrownAt(mark, 1);
        }
        for (String mark : List.of("near", "first", "cause", "finally", "swallowed", "block", "reflected",
                "task", "passing")) {
            ExpectEvents.caughtAt(mark + " caught", n);
        }
        ExpectEvents.caughtAt("resource caught", 3 * n);
        for (String mark : List.of("no class", "interruption", "initializer", "no definition")) {
            ExpectEvents.caughtAt(mark + " caught", 1);
        }
        ExpectEvents.caughtAt("caught", 25 * n + 2);
    }
}
