package harness;

import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/**
 * The calls that a program expects in a trace of itself. Tests exclude this class (harness.Expect*)
 * from tracing, so that the trace has no calls of this class.
 *
 * <p>Each program adds up its counts from what its source says, and prints them.
 * java-harness/README.md describes the lines. {@link ExpectEvents} does the same for the other
 * events.
 */
public final class Expect {
    private static final Map<String, Long> COUNTS = new TreeMap<>();
    private static final Map<String, Long> PREFIXES = new TreeMap<>();
    private static final Map<String, Long> LIMITS = new TreeMap<>();
    private static final Map<String, long[]> RANGES = new TreeMap<>();
    private static final Map<String, Object> FACTS = new TreeMap<>();

    private Expect() {}

    /** Begins the counts of the program with the given main class. Its main method runs once. */
    public static Of program(String className) {
        return of(className).count("main([Ljava/lang/String;)V", 1);
    }

    /** Returns the counts of a class, named as Class.getName names it. */
    public static Of of(String className) {
        return new Of(className);
    }

    /** Counts of a class, by method name and descriptor. Repeated calls add up. */
    public static final class Of {
        private final String name;

        private Of(String name) {
            this.name = name;
        }

        public Of count(String method, long n) {
            add(COUNTS, name + "." + method, n);
            return this;
        }

        /**
         * Expects {@code n} calls of the class's only constructor, whose parameters depend on the
         * compiler.
         */
        public Of constructor(long n) {
            Constructor<?>[] all = load(name).getDeclaredConstructors();
            same(1, all.length);
            MethodType type = MethodType.methodType(void.class, all[0].getParameterTypes());
            return count("<init>" + type.toMethodDescriptorString(), n);
        }

        /** Returns true if the compiler generated this class. Does not initialise it. */
        public boolean exists() {
            return load(name) != null;
        }

        private static Class<?> load(String name) {
            try {
                return Class.forName(name, false, Expect.class.getClassLoader());
            } catch (ClassNotFoundException e) {
                return null;
            }
        }

        /**
         * Expects {@code n} calls in total of the methods whose names begin with {@code begin}. The
         * compiler chooses the rest of these names.
         */
        public Of prefix(String begin, long n) {
            add(PREFIXES, name + "." + begin, n);
            return this;
        }

        /** Expects a number of calls within bounds, where it cannot be known exactly. */
        public Of range(String method, long low, long high) {
            synchronized (Expect.class) {
                RANGES.put(name + "." + method, new long[] {low, high});
            }
            return this;
        }

        /**
         * Expects {@code n} calls of a method at the limits of the class file. A trace may report
         * instead that the method is not instrumented.
         */
        public Of limit(String method, long n) {
            add(LIMITS, name + "." + method, n);
            return this;
        }

        /** Expects that {@code n} calls of the method on the main thread end by an exception. */
        public Of left(String method, long n) {
            ExpectEvents.left(name + "." + method, "main", n);
            return this;
        }

        /** Like {@link #range}, for calls on one thread that all end by an exception. */
        public Of leftRange(String method, String thread, long low, long high) {
            ExpectEvents.left(name + "." + method, thread, low, high);
            return range(method, low, high);
        }

        /** Returns the counts of a nested class of this one. */
        public Of nested(String nested) {
            return of(name + "$" + nested);
        }
    }

    private static synchronized void add(Map<String, Long> map, String key, long n) {
        map.merge(key, n, Long::sum);
    }

    /** Adds a figure that is not a count of calls. */
    public static synchronized void fact(String name, Object value) {
        FACTS.put(name, value);
    }

    /** Ends the program, because it cannot do its work in this JVM. */
    public static void skip(String why) {
        System.out.println("SKIP " + why);
        System.exit(0);
    }

    /** Returns the feature version of the running JVM. */
    public static int feature() {
        return Runtime.version().feature();
    }

    /** Fails the program unless both values are equal. */
    public static void same(Object expected, Object actual) {
        if (!expected.equals(actual)) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }

    /** Prints all lines at once. A method with count 0 was not called, and gets no line. */
    public static synchronized void print() {
        StringBuilder out = new StringBuilder();
        COUNTS.forEach((key, n) -> line(out, "COUNT", key, n));
        PREFIXES.forEach((key, n) -> line(out, "PREFIX", key, n));
        LIMITS.forEach((key, n) -> line(out, "LIMIT", key, n));
        RANGES.forEach((key, r) -> line(out, "RANGE", key, r[0] + " " + r[1]));
        FACTS.forEach((key, value) -> line(out, "FACT", key, value));
        ExpectEvents.append(out);
        // Always UTF-8, whatever the locale: names of methods can be anything.
        byte[] bytes = out.toString().getBytes(StandardCharsets.UTF_8);
        System.out.write(bytes, 0, bytes.length);
        System.out.flush();
    }

    private static void line(StringBuilder out, String word, String key, Object value) {
        if (!value.equals(0L)) {
            out.append(word).append(' ').append(key).append(' ').append(value).append('\n');
        }
    }
}
