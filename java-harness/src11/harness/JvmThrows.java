package harness;

/**
 * Instructions that make the JVM create and throw an exception by itself. Each has a mark. The
 * program catches the exceptions in its method {@code caught}.
 */
final class JvmThrows {
    private JvmThrows() {}

    static int length(int[] array) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("null", 1);
        return array.length;
    }

    static int index(int[] array, int at) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("index", 1);
        return array[at];
    }

    static String cast(Object o) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("cast", 1);
        return (String) o;
    }

    static void store(Object[] array, Object o) {
        ExpectEvents.leaves("caught");
        ExpectEvents.mark("store", 1);
        array[0] = o;
    }
}
