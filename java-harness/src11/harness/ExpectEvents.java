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
 * What a program expects of the events other than calls: objects, monitors, exceptions, lines and
 * so on. {@link Expect#print} prints them; java-harness/README.md says what each line means. Tests
 * exclude this class as they do {@link Expect}.
 */
public final class ExpectEvents {
    /** By word, then by key. A program tells a figure of 0 too: none of that kind may be there. */
    private static final Map<String, Map<String, Object>> LINES = new TreeMap<>();

    /** Source lines that {@link #mark} noted, with their methods. */
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

    /** Objects of this class are allocated; repeated calls add up. */
    public static void objects(Class<?> type, long n) {
        add("OBJECTS", nameOf(type), n);
    }

    /** As {@link #objects}, where the library makes objects of the class too. */
    public static void objectsAtLeast(Class<?> type, long n) {
        add("OBJECTS-MIN", type.getName(), n);
    }

    /** Objects of the class are allocated at a marked place. Part of {@link #objects}, not more. */
    public static void objectsAt(String mark, Class<?> type, long n) {
        Site site = site(mark);
        add("OBJECTS-AT", site.key + " " + site.line + " " + type.getName(), n);
    }

    /** Bytes of all objects of the class. */
    public static void bytes(Class<?> type, long n) {
        add("BYTES", type.getName(), n);
    }

    /** Objects of the class that are alive at the end. */
    public static void live(Class<?> type, long n) {
        add("LIVE", type.getName(), n);
    }

    /** The same, by the thread that allocated them. All threads that objects of the class live of are told. */
    public static void live(Class<?> type, String thread, long n) {
        add("LIVE-THREAD", type.getName() + " " + thread, n);
    }

    /** Enters which found a monitor of this class held by a thread of this name. */
    public static void contended(Class<?> type, String owner, long n) {
        add("CONTENDED", type.getName(), n);
        add("OWNER", type.getName() + " " + owner, n);
    }

    /** As {@link #contended}, where the JVM may not name the owner, as it is a virtual thread. */
    public static void contendedOrUnnamed(Class<?> type, String owner, long n) {
        add("CONTENDED", type.getName(), n);
        add("OWNER-OR-NONE", type.getName() + " " + owner, n);
    }

    /** Waits on monitors of this class, and how many of them end by their time limit. */
    public static void waits(Class<?> type, long n, long timedOut) {
        put("WAITS", type.getName(), n + " " + timedOut);
    }

    /** Waits on monitors of this class with this limit in milliseconds, 0 for none. All limits of the class are told. */
    public static void waitLimit(Class<?> type, long limit, long n) {
        add("WAIT-LIMIT", type.getName() + " " + limit, n);
    }

    /**
     * One more event of the kind (monitor, wait, park, throw) on the caller's stack, at the line that many lines behind
     * the call.
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

    /** As the JVM names the class for agents. Before 15, a hash and not an address tells hidden ones apart. */
    private static String nameOf(Class<?> type) {
        String name = type.getName();
        int hidden = Expect.feature() < 15 ? name.indexOf('/') : -1;
        return hidden < 0 ? name : name.substring(0, hidden) + "." + System.identityHashCode(type);
    }

    private static String method(StackWalker.StackFrame frame) {
        return nameOf(frame.getDeclaringClass()) + "." + frame.getMethodName() + frame.getDescriptor();
    }

    /** Throws of the class in methods of the program. */
    public static void thrown(Class<?> type, long n) {
        add("THROWN", type.getName(), n);
    }

    /** As {@link #thrown}, where only bounds are known. */
    public static void thrown(Class<?> type, long low, long high) {
        put("THROWN-RANGE", type.getName(), low + " " + high);
    }

    /** Throws at a marked place. */
    public static void thrownAt(String mark, long n) {
        Site site = site(mark);
        add("THROWN-AT", site.key + " " + site.line, n);
    }

    /** Catches of the class in methods of the program. */
    public static void caught(Class<?> type, long n) {
        add("CAUGHT", type.getName(), n);
    }

    /**
     * Catches at a marked place: the line of the handler's first instruction. Part of {@link #caught}. A program that tells some tells all.
     */
    public static void caughtAt(String mark, long n) {
        Site site = site(mark);
        add("CAUGHT-AT", site.key + " " + site.line, n);
    }

    /**
     * The caller is about to throw an exception, or to let one through: it leaves the calls of the program on the stack, from
     * the caller's up to the method of this name, which catches it; all of them if null. Together with {@link #left} these
     * are all calls that end so.
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

    /** So many calls of a method by a thread are left by an exception. */
    public static void left(String key, String thread, long n) {
        add("LEFT-BY-EXCEPTION", key + " " + thread, n);
    }

    /** As {@link #left}, where only bounds are known. */
    public static void left(String key, String thread, long low, long high) {
        put("LEFT-BY-EXCEPTION-RANGE", key + " " + thread, low + " " + high);
    }

    /** A thread is all the while in this state, and in this method, whose descriptor is left out. */
    public static void state(String thread, String state, StackTraceElement innermost) {
        put("STATE", thread, state + " " + innermost.getClassName() + "." + innermost.getMethodName());
    }

    /** Hits of a source line; the key is class, dot, name and descriptor. */
    public static void line(String key, int line, long n) {
        add("LINES", key + " " + line, n);
    }

    /** CPU time of all calls of a method with what they call, as the program measured it. */
    public static void cpu(String key, long nanos) {
        put("CPU", key, millis(nanos));
    }

    /** CPU time of a thread over its life, as the thread measured it at its end. */
    public static void cpuOfThread(String name, long nanos) {
        put("CPU-THREAD", name, millis(nanos));
    }

    /** With 5 percent up and down, and 2 ms for what lies between two measurements. */
    private static String millis(long nanos) {
        double ms = nanos / 1e6;
        long low = Math.max(0, (long) Math.floor(ms * 0.95 - 2));
        return Math.round(ms) + " " + low + " " + (long) Math.ceil(ms * 1.05 + 2);
    }

    /** Parks whose innermost method of the program is this one. */
    public static void parks(String key, long n) {
        add("PARKS", key, n);
    }

    /** As {@link #parks}, where only bounds are known. */
    public static void parks(String key, long low, long high) {
        put("PARKS-RANGE", key, low + " " + high);
    }

    /** A thread that started under one name and ended under another. */
    public static void renamed(String first, String last) {
        put("RENAMED", first + "|" + last, "");
    }

    /** The group of a thread, and that group's parent. */
    public static void group(String thread, ThreadGroup group) {
        put("GROUP", thread + "|" + group.getName() + "|" + group.getParent().getName(), "");
    }

    /** Class loaders that define a class of this name. */
    public static void loaded(String name, long n) {
        add("LOADED", name, n);
    }

    /** How many of them were unloaded. */
    public static void unloaded(String name, long n) {
        add("UNLOADED", name, n);
    }

    /** A virtual thread takes a carrier at least so often. */
    public static void mounts(String thread, long low) {
        add("MOUNTS", thread, low);
    }

    /** A method that the JVM compiles. */
    public static void compiled(String key) {
        put("COMPILED", key, "");
    }

    /** Objects of a class in the heap at the end, and the references out of all of them. */
    public static void heap(Class<?> type, long objects, long references) {
        Expect.fact("heap." + type.getName(), String.valueOf(objects)); // 0 is told, too
        add("REFS", type.getName(), references);
    }

    /** Objects of a class that are roots of this kind at the end. */
    public static void root(String kind, Class<?> type, long n) {
        add("ROOT", kind + " " + type.getName(), n);
    }

    /**
     * Until all other threads of the process sleep: then what tools ask the JVM on a thread that has just blocked is answered,
     * too. Seen several times in a row, as threads that work for each other may all sleep for a moment.
     */
    public static void awaitIdle() {
        for (int times = 0; times < 5; times++) {
            try {
                Thread.sleep(5);
                try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
                    if (threads.filter(ExpectEvents::isRunning).count() > 1) { // the first is this one
                        times = -1;
                    }
                }
            } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** By the letter behind the name, which stands in brackets. */
    private static boolean isRunning(Path thread) {
        try {
            String text = Files.readString(thread.resolve("stat"));
            return text.charAt(text.lastIndexOf(')') + 2) != 'S';
        } catch (IOException e) {
            return false; // it has ended
        }
    }

    /** Notes the caller's method, and the line that many lines behind the call. */
    public static synchronized void mark(String name, int offset) {
        StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
        StackWalker.StackFrame frame = walker.walk(frames -> frames.skip(1).findFirst().get());
        Site site = new Site(method(frame), frame.getLineNumber() + offset);
        Site other = SITES.put(name, site);
        Expect.same(true, other == null || other.line == site.line);
    }

    /** The caller's source line. */
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
