package harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The events other than calls that a program expects in a trace of itself: objects, monitors,
 * exceptions, lines and so on. {@link Expect#print} prints them; java-harness/README.md describes
 * the lines. Tests exclude this class from tracing, like {@link Expect}.
 */
public final class ExpectEvents {
    /** Values by word and key. A 0 is printed, too: it says that no such event may occur. */
    private static final Map<String, Map<String, Object>> LINES = new TreeMap<>();

    /** Methods and source lines that {@link #mark} noted, by the name of the mark. */
    private static final Map<String, Site> SITES = new TreeMap<>();

    private static final class Site {
        final String key;
        final int line;

        Site(String key, int line) {
            this.key = key;
            this.line = line;
        }
    }

    private ExpectEvents() {}

    /** Expects {@code n} allocations of objects of the class. Repeated calls add up. */
    public static void objects(Class<?> type, long n) {
        add("OBJECTS", nameOf(type), n);
    }

    /**
     * Like {@link #objects}, but at least {@code n}, because the library creates such objects, too.
     */
    public static void objectsAtLeast(Class<?> type, long n) {
        add("OBJECTS-MIN", type.getName(), n);
    }

    /**
     * Expects {@code n} allocations of the class at a marked line. {@link #objects} includes them.
     */
    public static void objectsAt(String mark, Class<?> type, long n) {
        Site site = site(mark);
        add("OBJECTS-AT", site.key + " " + site.line + " " + type.getName(), n);
    }

    /** Expects the given number of bytes for all objects of the class. */
    public static void bytes(Class<?> type, long n) {
        add("BYTES", type.getName(), n);
    }

    /** Expects {@code n} objects of the class that are alive at the end. */
    public static void live(Class<?> type, long n) {
        add("LIVE", type.getName(), n);
    }

    /**
     * Like {@link #live(Class, long)}, for the objects that one thread allocated. A program that
     * calls this for a class must call it for every thread that allocated live objects of the
     * class.
     */
    public static void live(Class<?> type, String thread, long n) {
        add("LIVE-THREAD", type.getName() + " " + thread, n);
    }

    /** Expects {@code n} contended enters of monitors of the class, which the given thread held. */
    public static void contended(Class<?> type, String owner, long n) {
        add("CONTENDED", type.getName(), n);
        add("OWNER", type.getName() + " " + owner, n);
    }

    /**
     * Like {@link #contended}, but the JVM may not name the owner, because it is a virtual thread.
     */
    public static void contendedOrUnnamed(Class<?> type, String owner, long n) {
        add("CONTENDED", type.getName(), n);
        add("OWNER-OR-NONE", type.getName() + " " + owner, n);
    }

    /**
     * Expects {@code n} waits on monitors of the class. {@code timedOut} of them end by their time
     * limit.
     */
    public static void waits(Class<?> type, long n, long timedOut) {
        put("WAITS", type.getName(), n + " " + timedOut);
    }

    /**
     * Expects {@code n} waits on monitors of the class with the given limit in milliseconds, 0 for
     * none. A program that calls this for a class must call it for every limit of the class.
     */
    public static void waitLimit(Class<?> type, long limit, long n) {
        add("WAIT-LIMIT", type.getName() + " " + limit, n);
    }

    /**
     * Expects one more event of the kind (monitor, wait, park, throw) on the caller's stack, at the
     * line that is {@code offset} lines after this call.
     */
    public static void stack(String kind, int offset) {
        StackWalker walker = StackWalker.getInstance(
                Set.of(StackWalker.Option.RETAIN_CLASS_REFERENCE, StackWalker.Option.SHOW_HIDDEN_FRAMES));
        StringBuilder key = new StringBuilder(kind);
        walker.forEach(frame -> {
            if (frame.getDeclaringClass() != ExpectEvents.class) {
                boolean first = key.length() == kind.length();
                key.append(first ? ' ' : '|').append(method(frame)).append(' ');
                key.append(frame.getLineNumber() + (first ? offset : 0));
            }
        });
        add("STACK", key.toString(), 1);
    }

    /**
     * Returns the name by which the JVM reports the class to agents. Before 15, names of hidden
     * classes end with a hash instead of an address.
     */
    private static String nameOf(Class<?> type) {
        String name = type.getName();
        int hidden = Expect.feature() < 15 ? name.indexOf('/') : -1;
        return hidden < 0 ? name : name.substring(0, hidden) + "." + System.identityHashCode(type);
    }

    private static String method(StackWalker.StackFrame frame) {
        return nameOf(frame.getDeclaringClass()) + "." + frame.getMethodName() + frame.getDescriptor();
    }

    /** Expects {@code n} throws of the class in methods of the program. */
    public static void thrown(Class<?> type, long n) {
        add("THROWN", type.getName(), n);
    }

    /** Like {@link #thrown(Class, long)}, but only bounds are known. */
    public static void thrown(Class<?> type, long low, long high) {
        put("THROWN-RANGE", type.getName(), low + " " + high);
    }

    /** Expects {@code n} throws at a marked line. */
    public static void thrownAt(String mark, long n) {
        Site site = site(mark);
        add("THROWN-AT", site.key + " " + site.line, n);
    }

    /** Expects {@code n} catches of the class in methods of the program. */
    public static void caught(Class<?> type, long n) {
        add("CAUGHT", type.getName(), n);
    }

    /**
     * Expects {@code n} catches at a marked line: the line of the handler's first instruction.
     * {@link #caught} includes them. A program that calls this must call it for every catch.
     */
    public static void caughtAt(String mark, long n) {
        Site site = site(mark);
        add("CAUGHT-AT", site.key + " " + site.line, n);
    }

    /**
     * Notes that the caller is about to throw an exception, or to let one through. The exception
     * leaves the calls of the program that are on the stack, from the caller's up to the method of
     * the given name, which catches it; all of them if the name is null. Besides these calls and
     * those of {@link #left}, no call may end by an exception.
     */
    public static void leaves(String catcher) {
        StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
        List<StackWalker.StackFrame> stack = walker.walk(frames -> frames.skip(1).collect(Collectors.toList()));
        for (StackWalker.StackFrame frame : stack) {
            if (frame.getMethodName().equals(catcher)) {
                return;
            }
            String key = method(frame);
            if (key.startsWith("harness.")) {
                left(key, Thread.currentThread().getName(), 1);
            }
        }
        if (catcher != null) {
            throw new AssertionError("no " + catcher);
        }
    }

    /** Expects that {@code n} calls of a method by a thread end by an exception. */
    public static void left(String key, String thread, long n) {
        add("LEFT-BY-EXCEPTION", key + " " + thread, n);
    }

    /** Like {@link #left(String, String, long)}, but only bounds are known. */
    public static void left(String key, String thread, long low, long high) {
        put("LEFT-BY-EXCEPTION-RANGE", key + " " + thread, low + " " + high);
    }

    /**
     * Expects that a thread is in one state and one method all the time. The method's descriptor is
     * left out.
     */
    public static void state(String thread, String state, StackTraceElement innermost) {
        put("STATE", thread, state + " " + innermost.getClassName() + "." + innermost.getMethodName());
    }

    /**
     * Expects {@code n} hits of a source line. The key is class, dot, method name and descriptor.
     */
    public static void line(String key, int line, long n) {
        add("LINES", key + " " + line, n);
    }

    /**
     * Expects the CPU time of all calls of a method, callees included, as the program measured it.
     */
    public static void cpu(String key, long nanos) {
        put("CPU", key, millis(nanos));
    }

    /** Expects the CPU time of a thread over its life, as the thread measured it at its end. */
    public static void cpuOfThread(String name, long nanos) {
        put("CPU-THREAD", name, millis(nanos));
    }

    /**
     * Returns milliseconds and their bounds: 5 percent, and 2 ms for the time between two
     * measurements.
     */
    private static String millis(long nanos) {
        double ms = nanos / 1e6;
        long low = Math.max(0, (long) Math.floor(ms * 0.95 - 2));
        return Math.round(ms) + " " + low + " " + (long) Math.ceil(ms * 1.05 + 2);
    }

    /** Expects {@code n} parks whose innermost method of the program is the given one. */
    public static void parks(String key, long n) {
        add("PARKS", key, n);
    }

    /** Like {@link #parks(String, long)}, but only bounds are known. */
    public static void parks(String key, long low, long high) {
        put("PARKS-RANGE", key, low + " " + high);
    }

    /** Expects a thread that starts under one name and ends under another. */
    public static void renamed(String first, String last) {
        put("RENAMED", first + "|" + last, "");
    }

    /** Expects the group of a thread, and the parent of the group. */
    public static void group(String thread, ThreadGroup group) {
        put("GROUP", thread + "|" + group.getName() + "|" + group.getParent().getName(), "");
    }

    /** Expects that {@code n} class loaders define a class of this name. */
    public static void loaded(String name, long n) {
        add("LOADED", name, n);
    }

    /** Expects that {@code n} classes of this name are unloaded. */
    public static void unloaded(String name, long n) {
        add("UNLOADED", name, n);
    }

    /** Expects that a virtual thread is mounted at least {@code low} times. */
    public static void mounts(String thread, long low) {
        add("MOUNTS", thread, low);
    }

    /** Expects that the JVM compiles a method. */
    public static void compiled(String key) {
        put("COMPILED", key, "");
    }

    /**
     * Expects the number of objects of a class in the heap at the end, and of the references from
     * them.
     */
    public static void heap(Class<?> type, long objects, long references) {
        Expect.fact("heap." + type.getName(), String.valueOf(objects)); // printed even if it is 0
        add("REFS", type.getName(), references);
    }

    /** Expects {@code n} objects of a class that are roots of this kind at the end. */
    public static void root(String kind, Class<?> type, long n) {
        add("ROOT", kind + " " + type.getName(), n);
    }

    /**
     * Waits until all other threads of the process sleep. A thread that has just blocked may still
     * run a tool's callback, and sleeps when the callback has ended. The threads must sleep several
     * times in a row, because threads that work for each other may all sleep for a moment.
     */
    public static void awaitIdle() {
        for (int times = 0; times < 5; times++) {
            try {
                Thread.sleep(5);
                try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
                    if (threads.filter(ExpectEvents::isRunning).count() > 1) { // one is this thread
                        times = -1;
                    }
                }
            } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    /**
     * Returns true unless the thread sleeps. In {@code stat}, a thread's name in parentheses is
     * followed by the letter of its state.
     */
    private static boolean isRunning(Path thread) {
        try {
            String text = Files.readString(thread.resolve("stat"));
            return text.charAt(text.lastIndexOf(')') + 2) != 'S';
        } catch (IOException e) {
            return false; // the thread has ended
        }
    }

    /** Notes the caller's method, and the line that is {@code offset} lines after this call. */
    public static synchronized void mark(String name, int offset) {
        StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
        StackWalker.StackFrame frame = walker.walk(frames -> frames.skip(1).findFirst().get());
        Site site = new Site(method(frame), frame.getLineNumber() + offset);
        Site other = SITES.put(name, site);
        Expect.same(true, other == null || other.line == site.line);
    }

    /** Returns the caller's source line. */
    public static int here() {
        return new Throwable().getStackTrace()[1].getLineNumber();
    }

    private static synchronized Site site(String mark) {
        Site site = SITES.get(mark);
        Expect.same(true, site != null);
        return site;
    }

    private static synchronized void add(String word, String key, long n) {
        LINES.computeIfAbsent(word, w -> new TreeMap<>()).merge(key, n, (a, b) -> (Long) a + (Long) b);
    }

    private static synchronized void put(String word, String key, String value) {
        Object other = LINES.computeIfAbsent(word, w -> new TreeMap<>()).put(key, value);
        Expect.same(true, other == null);
    }

    static synchronized void append(StringBuilder out) {
        LINES.forEach((word, lines) -> lines.forEach((key, value) ->
                out.append((word + " " + key + " " + value).stripTrailing()).append('\n')));
    }
}
