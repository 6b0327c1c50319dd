package harness;

import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * Objects that no {@code new} of the source creates: exceptions that the JVM throws by itself, and
 * objects of capturing lambdas, which hidden classes create. With more exceptions, a compiler would
 * begin to throw the same object each time. Argument: rounds, default 200.
 */
public final class Implicit {
    static volatile Object sink;
    static volatile int zero;

    interface Action {
        void run();
    }

    static int divide(int n) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("divide", 1);
        return n / zero;
    }

    static void size(int n) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("size", 1);
        sink = new long[n];
    }

    static void caught(Class<?> type, Action action) {
        try {
            action.run();
            throw new AssertionError("no exception");
        } catch (RuntimeException e) {
            Expect.same(type, e.getClass());
        }
    }

    static final Object[] STRINGS = new String[1];
    static final int[] INTS = new int[3];
    static final Action DIVIDE = () -> divide(5);
    static final Action LENGTH = () -> JvmThrows.length(null);
    static final Action INDEX = () -> JvmThrows.index(INTS, 3);
    static final Action CAST = () -> JvmThrows.cast(INTS);
    static final Action STORE = () -> JvmThrows.store(STRINGS, INTS);
    static final Action SIZE = () -> size(-1);

    static void exceptions() {
        caught(ArithmeticException.class, DIVIDE);
        caught(NullPointerException.class, LENGTH);
        caught(ArrayIndexOutOfBoundsException.class, INDEX);
        caught(ClassCastException.class, CAST);
        caught(ArrayStoreException.class, STORE);
        caught(NegativeArraySizeException.class, SIZE);
    }

    static IntSupplier captures(int n) {
        return () -> n;
    }

    static Supplier<String> refers(String text) {
        return text::trim;
    }

    public static void main(String[] args) {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 200;
        for (int i = 0; i < rounds; i++) {
            exceptions();
            sink = captures(i);
            sink = refers("text");
        }
        System.out.println("rounds " + rounds);
        expect("divide", ArithmeticException.class, rounds);
        expect("null", NullPointerException.class, rounds);
        expect("index", ArrayIndexOutOfBoundsException.class, rounds);
        expect("cast", ClassCastException.class, rounds);
        expect("store", ArrayStoreException.class, rounds);
        expect("size", NegativeArraySizeException.class, rounds);
        ExpectEvents.objects(captures(0).getClass(), rounds + 1);
        ExpectEvents.objects(refers("text").getClass(), rounds + 1);
        Expect.print();
    }

    static void expect(String mark, Class<?> type, long n) {
        ExpectEvents.objects(type, n);
        ExpectEvents.objectsAt(mark, type, n);
    }
}
