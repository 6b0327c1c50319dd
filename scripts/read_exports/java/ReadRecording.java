import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Prints sums over a recording, as the JDK reads it: lines of a subject, a key and numbers, with
 * tabs between them.
 */
public class ReadRecording {
    /** Sums by subject and key. */
    private static final Map<String, long[]> SUMS = new TreeMap<>();
    private static final Map<RecordedMethod, String> METHODS = new IdentityHashMap<>();
    private static final Map<Long, Deque<long[]>> ENDED = new HashMap<>();

    public static void main(String[] args) throws Exception {
        try (RecordingFile recording = new RecordingFile(Path.of(args[0]))) {
            while (recording.hasMoreEvents()) {
                read(recording.readEvent());
            }
        }
        StringBuilder out = new StringBuilder();
        SUMS.forEach((key, numbers) -> {
            out.append(key);
            for (long number : numbers) {
                out.append('\t').append(number);
            }
            out.append('\n');
        });
        System.out.print(out);
    }

    private static void read(RecordedEvent event) {
        String type = event.getEventType().getName();
        add("events", type, 1);
        switch (type) {
            case "jdk.MethodTrace":
                readCall(event);
                break;
            case "jdk.JavaMonitorEnter":
            case "jdk.JavaMonitorWait":
            case "jdk.ThreadPark":
                add(type, site(event), 1, nanos(event));
                break;
            case "jdk.JavaExceptionThrow":
                add(type, className(event.getClass("thrownClass")), 1);
                add("sites of throws", site(event), 1);
                break;
            case "jdk.ObjectAllocationSample":
                add(type, className(event.getClass("objectClass")), 1, event.getLong("weight"));
                if (event.getStackTrace() == null) {
                    add("allocations without a stack", className(event.getClass("objectClass")),
                        event.getLong("weight"));
                }
                add("allocating threads", "" + id(event.getThread()), 1, event.getLong("weight"));
                break;
            case "jdk.ThreadAllocationStatistics":
                add(type, "" + id(event.getThread("thread")), event.getLong("allocated"));
                break;
            case "jdk.ExecutionSample":
                add(type, site(event).replaceAll(":(-?\\d+|native)$", ""), 1);
                add("sampled threads", "" + id(event.getThread("sampledThread")), 1);
                break;
            case "jdk.NativeMethodSample":
                if (event.getString("state").equals("STATE_RUNNABLE")) {
                    add(type, site(event).replaceAll(":(-?\\d+|native)$", ""), 1);
                }
                break;
            case "jdk.GarbageCollection":
                add(type, event.getString("name") + "/" + event.getString("cause"), 1, nanos(event));
                break;
            case "jdk.GCHeapSummary":
                add(type, event.getString("when"), event.getLong("heapUsed"));
                break;
            case "jdk.ThreadEnd":
                add(type, "" + id(event.getThread("thread")), 1);
                break;
            default:
                break;
        }
    }

    /** Adds a call. The calls of a thread come in the order of their ends. */
    private static void readCall(RecordedEvent event) {
        String method = name(event.getValue("method"));
        long thread = id(event.getThread());
        long start = event.getLong("startTime");
        long time = nanos(event);
        Deque<long[]> ended = ENDED.computeIfAbsent(thread, key -> new ArrayDeque<>());
        long callees = 0;
        while (!ended.isEmpty() && ended.peek()[0] >= start) {
            callees += ended.pop()[1];
        }
        ended.push(new long[] {start, time});
        RecordedStackTrace callers = event.getStackTrace();
        boolean isRecursive = false;
        if (callers != null) {
            for (RecordedFrame frame : callers.getFrames()) {
                isRecursive |= name(frame.getMethod()).equals(method);
            }
        } else {
            add("busy threads", "" + thread, time);
        }
        add("jdk.MethodTrace", method, 1, isRecursive ? 0 : time, time - callees);
        add("calling threads", "" + thread, 1);
    }

    private static void add(String subject, String key, long... numbers) {
        long[] sums = SUMS.computeIfAbsent(subject + "\t" + key, none -> new long[numbers.length]);
        for (int index = 0; index < numbers.length; index++) {
            sums[index] += numbers[index];
        }
    }

    private static String name(RecordedMethod method) {
        return METHODS.computeIfAbsent(method, key -> (key.getType().getName() + "."
            + key.getName() + key.getDescriptor()).intern());
    }

    /** Returns the innermost frame with its line, like the sites in a report. */
    private static String site(RecordedEvent event) {
        RecordedStackTrace stack = event.getStackTrace();
        if (stack == null) {
            return "none";
        }
        RecordedFrame frame = stack.getFrames().get(0);
        int line = frame.getLineNumber();
        String place = frame.getType().equals("Native") ? ":native" : line > 0 ? ":" + line : "";
        return name(frame.getMethod()) + place;
    }

    private static String className(RecordedClass type) {
        return type == null ? "none" : type.getName();
    }

    private static long id(RecordedThread thread) {
        return thread == null ? 0 : thread.getJavaThreadId();
    }

    private static long nanos(RecordedEvent event) {
        return event.getDuration().toNanos();
    }
}
