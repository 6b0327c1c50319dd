package harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import sun.misc.Unsafe;

/**
 * Objects between {@code new} and the constructor of {@code Object}, and what can go wrong there:
 * constructors and arguments that throw, objects that are created during the creation of others,
 * objects without a constructor call. Four threads work at a time. The objects of every tenth round
 * stay alive; all others are dead at the end. Argument: rounds of each thread, default 300.
 */
public final class Constructed {
    static final int THREADS = 4;
    static final List<Object> KEPT = new ArrayList<>();
    static final List<WeakReference<Object>> DEAD = new ArrayList<>();
    static volatile Object sink;

    static class Outer {
        final Object held;

        Outer(Object held) {
            this.held = held;
        }
    }

    /** Creates other objects in the arguments of super(). */
    static final class Deep extends Outer {
        Deep(int depth) {
            super(depth == 0 ? new Leaf() : new Deep(depth - 1));
        }
    }

    static final class Leaf {}

    /** A class of which no object is constructed, because the constructor's arguments throw. */
    static final class Never {
        Never(int value) {
            sink = value;
        }
    }

    /** A class whose constructor throws before it reaches the constructor of {@code Object}. */
    static final class Early extends Outer {
        Early() {
            super(fail());
        }
    }

    /** A class whose constructor throws after it has reached the constructor of {@code Object}. */
    static final class Late {
        Late() {
            sink = fail();
        }
    }

    static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;

        Failure() {
            super(null, null, false, false);
        }
    }

    static final class Reflected {}

    static final class Handled {}

    static final class Raw {}

    static final class Copied implements Cloneable {
        Copied copy() throws CloneNotSupportedException {
            return (Copied) super.clone();
        }
    }

    static final class Letter implements Serializable {
        private static final long serialVersionUID = 1;
        int number = 7;
    }

    /**
     * A class of which an object is created during the creation of another one, by the same
     * allocation site.
     */
    static final class Chain {
        final Chain next;

        Chain(Chain next) {
            this.next = next;
        }

        static Chain of(int links) {
            return new Chain(links == 1 ? null : of(links - 1));
        }
    }

    static final class Finalized {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            sink = null;
            FINALIZED.incrementAndGet();
        }
    }

    static final AtomicInteger FINALIZED = new AtomicInteger();
    static final Failure FAILURE = new Failure();

    static int fail() {
        throw FAILURE;
    }

    static final Constructor<Reflected> CONSTRUCTOR;
    static final MethodHandle HANDLE;
    static final Unsafe UNSAFE;

    static {
        try {
            CONSTRUCTOR = Reflected.class.getDeclaredConstructor();
            HANDLE = MethodHandles.lookup().findConstructor(Handled.class, MethodType.methodType(void.class));
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            UNSAFE = (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Keeps the object of every tenth round. Of all others, keeps only a weak reference. */
    static <T> T made(int round, T object) {
        if (round % 10 == 0) {
            synchronized (KEPT) {
                KEPT.add(object);
            }
        } else {
            synchronized (DEAD) {
                DEAD.add(new WeakReference<>(object));
            }
        }
        return object;
    }

    static void failures() {
        try {
            sink = new Never(fail());
        } catch (Failure e) {
            sink = e;
        }
        try {
            sink = new Outer(new Never(fail()));
        } catch (Failure e) {
            sink = e;
        }
        try {
            sink = new Early();
        } catch (Failure e) {
            sink = e;
        }
        try {
            sink = new Late();
        } catch (Failure e) {
            sink = e;
        }
    }

    static Object letter() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Letter());
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return in.readObject();
        }
    }

    static void round(int i) throws Throwable {
        made(i, new Outer(new Outer(new Outer(null))));
        failures();
        made(i, new Deep(3));
        made(i, Chain.of(5));
        made(i, CONSTRUCTOR.newInstance());
        made(i, (Handled) HANDLE.invokeExact());
        made(i, UNSAFE.allocateInstance(Raw.class));
        made(i, new Outer(UNSAFE.allocateInstance(Outer.class)));
        made(i, new Copied().copy());
        made(i, letter());
        made(i, new Leaf[2][3][4]);
        made(i, Array.newInstance(Leaf.class, 2, 2));
        made(i, new Leaf[] {new Leaf()}.clone());
        sink = new Finalized();
    }

    static void work(int rounds) {
        try {
            for (int i = 0; i < rounds; i++) {
                round(i);
            }
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    static long reachable() {
        synchronized (DEAD) {
            return DEAD.stream().filter(r -> r.get() != null).count();
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 300;
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> work(rounds), "maker-" + i);
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        sink = null;
        // An object with a finalizer is reclaimed only by a collection after the finalizer has run,
        // and the finalizer thread runs it at some time.
        for (int i = 0; i < 1000 && (i < 3 || reachable() > 0 || FINALIZED.get() < THREADS * rounds); i++) {
            System.gc();
            System.runFinalization();
            Thread.sleep(10);
        }
        System.gc();
        Expect.same(0L, reachable());
        System.out.println("dead " + DEAD.size() + " kept " + KEPT.size());
        long n = (long) THREADS * rounds;
        long live = (long) THREADS * ((rounds + 9) / 10);
        expect(Outer.class, 6 * n, 5 * live); // one more is never created
        expect(Deep.class, 4 * n, 4 * live);
        expect(Leaf.class, 2 * n, 2 * live);
        expect(Chain.class, 5 * n, 5 * live);
        expect(Never.class, 2 * n, 0);
        expect(Early.class, n, 0);
        expect(Late.class, n, 0);
        expect(Failure.class, 1, 1);
        expect(Reflected.class, n, live);
        expect(Handled.class, n, live);
        expect(Raw.class, n, live);
        expect(Copied.class, 2 * n, live);
        expect(Letter.class, 2 * n, live);
        expect(Finalized.class, n, 0);
        // 6 in the array of three dimensions, 2 in the array of two, one literal and its copy. The
        // literal itself dies.
        expect(Leaf[].class, 10 * n, 9 * live);
        expect(Leaf[][].class, 3 * n, 3 * live);
        expect(Leaf[][][].class, n, live);
        Expect.print();
    }

    static void expect(Class<?> type, long objects, long live) {
        ExpectEvents.objects(type, objects);
        ExpectEvents.live(type, live);
    }
}
