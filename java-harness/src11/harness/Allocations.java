package harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Objects in all the ways that a program can create them, by four threads at a time. Argument:
 * rounds of each thread, default 100.
 *
 * <p>Every object escapes into a volatile field, so that no compiler can eliminate it. The library
 * creates primitive arrays, too, so only those that this class creates are expected. For byte[] and
 * int[], only single lines are expected: when the JVM resolves a constant or initialises a class,
 * it creates such arrays in the middle of any method.
 */
public final class Allocations {
    static final int THREADS = 4;
    static volatile Object sink;

    static class Plain implements Cloneable {
        int number;
        long other;

        Plain copy() throws CloneNotSupportedException {
            return (Plain) super.clone();
        }
    }

    /** A subclass: creating an object of it creates one object, not two. */
    static class Derived extends Plain {
        Object more;
    }

    static final class Reflected {
        byte one;

        Reflected() {}
    }

    static final class Handled {}

    static final class Referred {
        Object a, b, c;
    }

    static class Letter implements Serializable {
        private static final long serialVersionUID = 1;
        int number = 7;
        Stamp[] stamps = {new Stamp(), new Stamp()};
    }

    static final class Stamp implements Serializable {
        private static final long serialVersionUID = 1;
    }

    static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** An enum with two constants, one of which has a class of its own. */
    enum Colour {
        RED,
        GREEN {
            @Override
            int shade() {
                return 2;
            }
        };

        int shade() {
            return 1;
        }
    }

    /** A class for whose objects each for loop creates an iterator. */
    static final class Steps implements Iterable<Steps> {
        final class Walk implements Iterator<Steps> {
            int left = 3;

            @Override
            public boolean hasNext() {
                return left > 0;
            }

            @Override
            public Steps next() {
                left--;
                return Steps.this;
            }
        }

        @Override
        public Iterator<Steps> iterator() {
            return new Walk();
        }
    }

    static void plain() {
        ExpectEvents.mark("plain", 1);
        sink = new Plain();
        sink = new Derived();
    }

    static void primitives() {
        ExpectEvents.mark("booleans", 1);
        sink = new boolean[3];
        ExpectEvents.mark("bytes", 1);
        sink = new byte[1000];
        sink = new char[13];
        sink = new short[9];
        sink = new float[7];
        sink = new double[4];
        ExpectEvents.mark("ints", 1);
        sink = new int[8];
        ExpectEvents.mark("initialised", 1);
        sink = new int[] {1, 2, 3};
        sink = new long[0];
    }

    static void references() {
        sink = new Plain[4];
        sink = new Plain[] {new Plain(), null, new Derived()};
        sink = new Derived[0];
        sink = new String[2];
    }

    /**
     * Creates multi-dimensional arrays. Each comment counts the array objects of its line,
     * dimension by dimension.
     */
    static void dimensions(int none) {
        sink = new Plain[2][3][4]; // 1, 2, 6
        sink = new Plain[2][3][]; // 1, 2
        sink = new Plain[none][7]; // 1, 0
        sink = new Plain[5][none]; // 1, 5
        ExpectEvents.mark("grid", 1);
        sink = new int[2][5]; // 1, 2
        ExpectEvents.mark("rows", 1);
        sink = new int[][] {{1}, {2, 3}, null}; // 1, 2
    }

    final class Inner {
        Object outer = Allocations.this;
    }

    static Class<?> anonymous;
    static Class<?> local;

    void nested(int n) {
        sink = new Inner();
        class Local {
            int captured = n;
        }
        sink = new Local();
        local = Local.class;
        Object nameless = new Object() {
            @Override
            public String toString() {
                return "nameless " + n;
            }
        };
        sink = nameless;
        anonymous = nameless.getClass();
    }

    static int varargs(Plain... all) {
        sink = all;
        return all.length;
    }

    static int varargs(int... all) {
        sink = all;
        return all.length;
    }

    static void calls() {
        varargs(null, null);
        varargs(new Plain[1]);
        ExpectEvents.mark("varargs", 1);
        varargs(1, 2, 3, 4);
    }

    /** Boxes values outside of the caches, so that each gets a new box. */
    static void boxes(int n) {
        Object box = 1_000 + n;
        sink = box;
        box = 100_000L + n;
        sink = box;
        box = (char) (1_000 + n);
        sink = box;
        box = (short) (1_000 + n);
        sink = box;
        box = 1.5 * n;
        sink = box;
        box = 1.5f * n;
        sink = box;
    }

    static void enums() {
        sink = Colour.values();
        sink = Colour.valueOf("RED").shade() + Colour.GREEN.shade();
    }

    static void clones() throws CloneNotSupportedException {
        Plain[] array = new Plain[2];
        sink = array.clone();
        sink = new Plain().copy();
        sink = new Derived().copy();
        sink = Arrays.copyOf(array, 5);
        sink = List.of(new Plain()).toArray(new Plain[1]);
    }

    static final Constructor<?> CONSTRUCTOR;
    static final MethodHandle HANDLE;
    /** Creates an object of a class, without a call of a constructor. */
    static final MethodHandle ALLOCATE;
    static final Supplier<?> REFERENCE = Referred::new;
    static final Class<?>[] NO_TYPES = {};
    static final Object[] NO_VALUES = {};

    static {
        try {
            CONSTRUCTOR = Reflected.class.getDeclaredConstructor(NO_TYPES);
            HANDLE = MethodHandles.lookup().findConstructor(Handled.class, MethodType.methodType(void.class));
            Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            Field only = unsafe.getDeclaredField("theUnsafe");
            only.setAccessible(true);
            MethodType allocate = MethodType.methodType(Object.class, Class.class);
            ALLOCATE = MethodHandles.lookup().findVirtual(unsafe, "allocateInstance", allocate).bindTo(only.get(null));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void indirect() throws Throwable {
        sink = CONSTRUCTOR.newInstance(NO_VALUES);
        sink = Array.newInstance(Plain.class, 3);
        sink = Array.newInstance(Plain.class, new int[] {2, 2});
        sink = (Handled) HANDLE.invokeExact();
        sink = REFERENCE.get();
    }

    static void serial() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Letter());
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            sink = in.readObject();
        }
    }

    static void others() {
        for (Steps each : new Steps()) {
            sink = each;
        }
        try {
            throw new Failure();
        } catch (Failure e) {
            sink = e;
        }
    }

    static void work(int rounds) {
        Allocations outer = new Allocations();
        try {
            for (int i = 0; i < rounds; i++) {
                plain();
                primitives();
                references();
                dimensions(0);
                outer.nested(i);
                calls();
                boxes(i);
                enums();
                clones();
                indirect();
                serial();
                others();
            }
            ExpectEvents.mark("huge", 1);
            sink = new long[300_000];
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    static final int MEASURES = 8;
    static final int OBJECTS = 250;

    /**
     * Returns the size in bytes of the object that {@code make} creates at each call. Creates
     * MEASURES * OBJECTS objects. The JVM counts exactly the bytes that a thread allocates. The
     * smallest of several differences of this count includes no other objects.
     */
    static long size(Supplier<?> make) {
        com.sun.management.ThreadMXBean bean =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long none = Long.MAX_VALUE;
        long all = Long.MAX_VALUE;
        for (int i = 0; i < MEASURES; i++) {
            long before = bean.getThreadAllocatedBytes(id);
            long after = bean.getThreadAllocatedBytes(id);
            none = Math.min(none, after - before);
            before = bean.getThreadAllocatedBytes(id);
            for (int j = 0; j < OBJECTS; j++) {
                sink = make.get();
            }
            after = bean.getThreadAllocatedBytes(id);
            all = Math.min(all, after - before);
        }
        long bytes = all - none;
        Expect.same(0L, bytes % OBJECTS);
        return bytes / OBJECTS;
    }

    /**
     * Objects of at least this size in bytes can't be measured. Before 17, the agent creates a
     * small object beside each of them.
     */
    static final long LARGE = Runtime.version().feature() < 17 ? 64 : Long.MAX_VALUE;
    /** Bytes of each class so far; -1 if some of them are unknown. */
    static final Map<Class<?>, Long> BYTES = new HashMap<>();

    /**
     * Expects {@code n} objects of a class that all have one size, and adds up their bytes. May be
     * called again for objects of another size.
     */
    static void sized(Class<?> type, long n, Supplier<?> make) {
        long size = size(make);
        Expect.same(true, size > 0);
        long all = n + (long) MEASURES * OBJECTS;
        ExpectEvents.objects(type, all);
        BYTES.merge(type, size < LARGE ? size * all : -1, (one, other) -> Math.min(one, other) < 0 ? -1 : one + other);
    }

    /**
     * Like {@link #sized(Class, long, Supplier)}, but measures objects that are created without a
     * constructor, for constructors that create other objects or may not be called.
     */
    static void sized(Class<?> type, long n) {
        MethodHandle make = ALLOCATE.bindTo(type);
        sized(type, n, () -> {
            try {
                return (Object) make.invokeExact();
            } catch (Throwable t) {
                throw new AssertionError(t);
            }
        });
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 100;
        // The first call of valueOf creates a table of the constants. Two threads at a time might
        // create two.
        Colour.valueOf("RED");
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> work(rounds), "allocator-" + i);
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("rounds " + THREADS * rounds);
        expect((long) THREADS * rounds);
        BYTES.forEach((type, bytes) -> {
            if (bytes >= 0) {
                ExpectEvents.bytes(type, bytes);
            }
        });
        Expect.print();
    }

    /**
     * Adds up what {@code n} rounds create. Comments name the methods that create the objects. A
     * number after a name tells how many objects the method creates; without a number, it creates
     * one.
     */
    static void expect(long n) {
        sized(Plain.class, n * 5, () -> new Plain()); // plain, references, clones: 3
        ExpectEvents.objectsAt("plain", Plain.class, n);
        sized(Derived.class, n * 4, () -> new Derived()); // plain, references, clones: 2
        sized(Reflected.class, n, () -> new Reflected());
        sized(Handled.class, n, () -> new Handled());
        sized(Referred.class, n, () -> new Referred());
        sized(Letter.class, 2 * n);
        sized(Stamp.class, 4 * n);
        sized(Stamp[].class, 2 * n, () -> new Stamp[2]);
        sized(Failure.class, n);
        sized(Steps.class, n);
        sized(Steps.Walk.class, n);
        sized(Allocations.class, THREADS);
        sized(Inner.class, n);
        sized(local, n);
        sized(anonymous, n);

        sized(Colour.class, 1);
        sized(Colour.GREEN.getClass(), 1);
        // One array for $VALUES, a copy for the table of valueOf, and a copy for each call of
        // values().
        sized(Colour[].class, 2 + n, () -> new Colour[2]);

        sized(boolean[].class, n, () -> new boolean[3]);
        sized(char[].class, n, () -> new char[13]);
        sized(short[].class, n, () -> new short[9]);
        sized(float[].class, n, () -> new float[7]);
        sized(double[].class, n, () -> new double[4]);
        ExpectEvents.objectsAt("booleans", boolean[].class, n);
        ExpectEvents.objectsAt("bytes", byte[].class, n);
        for (String mark : List.of("ints", "initialised", "varargs")) {
            ExpectEvents.objectsAt(mark, int[].class, n);
        }
        sized(int[][].class, n, () -> new int[2][]); // grid
        sized(int[][].class, n, () -> new int[3][]); // rows
        ExpectEvents.objectsAt("rows", int[].class, 2 * n);
        ExpectEvents.objectsAt("grid", int[].class, 2 * n);
        ExpectEvents.objectsAt("grid", int[][].class, n);
        ExpectEvents.objects(long[].class, n + THREADS);
        ExpectEvents.objectsAt("huge", long[].class, THREADS);
        sized(String[].class, n, () -> new String[2]);

        sized(Plain[].class, 5 * n, () -> new Plain[0]); // dimensions
        sized(Plain[].class, 2 * n, () -> new Plain[1]); // calls, clones (for toArray)
        sized(Plain[].class, 5 * n, () -> new Plain[2]); // calls, clones (made, cloned), indirect 2
        sized(Plain[].class, 2 * n, () -> new Plain[3]); // references, indirect
        sized(Plain[].class, 7 * n, () -> new Plain[4]); // references, dimensions 6
        sized(Plain[].class, n, () -> new Plain[5]); // clones (copied)
        sized(Plain[][].class, n, () -> new Plain[0][]); // dimensions
        sized(Plain[][].class, n, () -> new Plain[2][]); // indirect
        sized(Plain[][].class, 4 * n, () -> new Plain[3][]); // dimensions 2 + 2
        sized(Plain[][].class, n, () -> new Plain[5][]); // dimensions
        sized(Plain[][][].class, 2 * n, () -> new Plain[2][][]);
        sized(Derived[].class, n, () -> new Derived[0]);

        for (Class<?> box : List.of(Integer.class, Long.class, Character.class, Short.class,
                Double.class, Float.class)) {
            ExpectEvents.objectsAtLeast(box, n);
        }
    }
}
