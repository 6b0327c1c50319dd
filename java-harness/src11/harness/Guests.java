package harness;

import java.util.function.IntSupplier;

/** Classes that come and go, for {@link Cycles}: apart from it, for what is made anew of a class grows with the class. */
final class Guests {
    private static final int COUNT = 5;

    private Guests() {}

    /** Loads a class some times over, each time for a loader that nobody has any more afterwards, and calls it. */
    static String load() throws ReflectiveOperationException {
        int sum = 0;
        for (int i = 0; i < COUNT; i++) {
            Class<?> guest = Class.forName("harness.Everything$Guest", true, new Everything.GuestLoader());
            sum += ((IntSupplier) guest.getDeclaredConstructor().newInstance()).getAsInt();
        }
        return "[classes " + sum + "]";
    }
}
