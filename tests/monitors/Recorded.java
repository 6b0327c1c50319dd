import java.nio.file.Path;
import java.util.List;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Prints the events of a recording, one per line, with tabs between: name, thread, begin and end in
 * nanoseconds since 1970, class (or -), and a figure. The figure is a weight or size in bytes. For
 * a wait, it is 1 if the wait timed out, otherwise 0.
 */
public final class Recorded {
    private static final List<String> CLASSES =
            List.of("monitorClass", "parkedClass", "thrownClass", "objectClass");

    public static void main(String[] args) throws Exception {
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                RecordedThread thread = event.getThread();
                if (thread != null && thread.getJavaName() != null) {
                    String name = event.getEventType().getName().replace("jdk.", "");
                    System.out.println(String.join("\t", name, thread.getJavaName(), nanos(event.getStartTime()),
                            nanos(event.getEndTime()), classOf(event), Long.toString(figure(event))));
                }
            }
        }
    }

    private static String nanos(java.time.Instant time) {
        return Long.toString(time.getEpochSecond() * 1_000_000_000L + time.getNano());
    }

    private static String classOf(RecordedEvent event) {
        for (String field : CLASSES) {
            if (event.hasField(field)) {
                RecordedClass type = event.getClass(field);
                return type == null ? "-" : type.getName();
            }
        }
        return "-";
    }

    private static long figure(RecordedEvent event) {
        if (event.hasField("timedOut")) {
            return event.getBoolean("timedOut") ? 1 : 0;
        }
        for (String field : List.of("weight", "tlabSize", "allocationSize")) {
            if (event.hasField(field)) {
                return event.getLong(field);
            }
        }
        return 0;
    }
}
