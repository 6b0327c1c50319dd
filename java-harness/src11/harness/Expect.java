package harness;

import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a program expects a trace of itself to hold. Tests exclude this class (harness.Expect*)
 * from tracing, so that the bookkeeping does not count itself.
 *
 * <p>Each program adds up its counts by hand, from what its source says, and prints them. The
 * lines are described in java-harness/README.md. {@link ExpectEvents} does the same for the other
 * events.
 */
public final class Expect {
    private static final Map<String, Long> COUNTS = new TreeMap<>();
    private static final Map<String, Long> PREFIXES = new TreeMap<>();
    private static final Map<String, Long> LIMITS = new TreeMap<>();
    private static final Map<String, long[]> RANGES = new TreeMap<>();
    private static final Map<String, Object> FACTS = new TreeMap<>();

    private Expect() {}

    /** Begins the counts of the program whose main class this is; its main runs once. */
    public static Of program(String className) {
        return of(className).count("main([Ljava/lang/String;)V", 1);
    }

    /** The methods of one class, named as Class.getName names it. */
    public static Of of(String className) {
        return new Of(className);
    }

    /** Counts by method name and descriptor; repeated calls add up. */
    public static final class Of {
        private final String name;

        private Of(String name) {
            this.name = name;
        }

        public Of count(String method, long n) {
            add(COUNTS, name + "." + method, n);
            return this;
        }

        /** The only constructor, where compilers differ in what they pass to it. */
        public Of constructor(long n) {
            Constructor<?>[] all = load(name).getDeclaredConstructors();
            same(1, all.length);
            MethodType type = MethodType.methodType(void.class, all[0].getParameterTypes());
            return count("<init>" + type.toMethodDescriptorString(), n);
        }

        /** Whether the compiler made this class; does not initialise it. */
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

        /** For names that the compiler makes up: the sum over all methods that begin so. */
        public Of prefix(String begin, long n) {
            add(PREFIXES, name + "." + begin, n);
            return this;
        }

        /** For what cannot be known exactly. */
        public Of range(String method, long low, long high) {
            synchronized (Expect.class) {
                RANGES.put(name + "." + method, new long[] {low, high});
            }
            return this;
        }

        /** For methods at the limits of the class file: a trace may say that it lacks them. */
        public Of limit(String method, long n) {
            add(LIMITS, name + "." + method, n);
            return this;
        }

        /** So many of the main thread's calls of this method end by an exception. */
        public Of left(String method, long n) {
            ExpectEvents.left(name + "." + method, "main", n);
            return this;
        }

        /** As {@link #range}; each of these calls is of this thread, and ends by an exception. */
        public Of leftRange(String method, String thread, long low, long high) {
            ExpectEvents.left(name + "." + method, thread, low, high);
            return range(method, low, high);
        }

        /** A nested class of this one. */
        public Of nested(String nested) {
            return of(name + "$" + nested);
        }
    }

    private static synchronized void add(Map<String, Long> map, String key, long n) {
        map.merge(key, n, Long::sum);
    }

    /** A figure that is no call count. */
    public static synchronized void fact(String name, Object value) {
        FACTS.put(name, value);
    }

    /** Ends the program: it cannot do its work in this JVM. */
    public static void skip(String why) {
        System.out.println("SKIP " + why);
        System.exit(0);
    }

    /** Feature version of the running JVM. */
    public static int feature() {
        return Runtime.version().feature();
    }

    /** Fails the program unless both are equal. */
    public static void same(Object expected, Object actual) {
        if (!expected.equals(actual)) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }

    /** Prints all lines at once. A method with count 0 was not called: no line. */
    public static synchronized void print() {
        StringBuilder out = new StringBuilder();
        COUNTS.forEach((key, n) -> line(out, "COUNT", key, n));
        PREFIXES.forEach((key, n) -> line(out, "PREFIX", key, n));
        LIMITS.forEach((key, n) -> line(out, "LIMIT", key, n));
        RANGES.forEach((key, r) -> line(out, "RANGE", key, r[0] + " " + r[1]));
        FACTS.forEach((key, value) -> line(out, "FACT", key, value));
        ExpectEvents.append(out);
        // UTF-8 always, whatever the locale: names of methods can be anything.
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
