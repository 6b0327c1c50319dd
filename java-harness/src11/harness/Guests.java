package harness;

import java.util.function.IntSupplier;

/**
 * Loads and drops classes, for {@link Cycles}. It is a class of its own, because the cost of a
 * retransformed class grows with its size.
 */
final class Guests {
    private static final int COUNT = 5;

    private Guests() {}

    /**
     * Loads a class several times, each time by a new class loader that becomes unreachable, and
     * calls it.
     */
    static String load() throws ReflectiveOperationException {
        int sum = 0;
        for (int i = 0; i < COUNT; i++) {
            Class<?> guest = Class.forName("harness.Everything$Guest", true, new Everything.GuestLoader());
            sum += ((IntSupplier) guest.getDeclaredConstructor().newInstance()).getAsInt();
        }
        return "[classes " + sum + "]";
    }
}
