/** The hooks of the behaviour tests. They note all events in order. */
public final class Recorder {
    private static final StringBuilder events = new StringBuilder();

    private Recorder() {}

    public static void enter(int id) { add('>', id); }
    public static void leave(int id) { add('<', id); }
    public static void leaveByException(int id) { add('!', id); }
    public static void caught(int id) { add('^', id); }
    public static void superCall(int id) { add('(', id); }
    public static void superReturned(int id) { add(')', id); }

    /** Does nothing: lines and allocations are not noted. */
    public static void line(int number) {}
    public static void allocated(int site) {}
    public static void arrayAllocated(int length, int site) {}
    public static void multiAllocated(Object array, int site) {}
    public static void callAllocated(Object made, int site) {}

    private static void add(char kind, int id) {
        if (events.length() < 100_000) events.append(' ').append(kind).append(id);
    }

    /** Returns the events since the last call of this method. */
    public static String take() {
        String taken = events.toString().trim();
        events.setLength(0);
        return taken;
    }
}
