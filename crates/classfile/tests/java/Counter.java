/** The hooks of the counting tests: how often each line number and allocation site was hit, and with how much. */
public final class Counter {
    private static final long[] lines = new long[100_000];
    private static final long[] sites = new long[100_000];
    private static final long[] amounts = new long[100_000];
    private static long calls;

    private Counter() {}

    public static void enter(int id) { calls++; }
    public static void leave(int id) { calls++; }
    public static void leaveByException(int id) { calls++; }
    public static void caught(int id) { calls++; }
    public static void superCall(int id) { calls++; }
    public static void superReturned(int id) { calls++; }

    public static void line(int number) { lines[number]++; }

    public static void allocated(int site) { sites[site]++; }

    /** Adds up the lengths. */
    public static void arrayAllocated(int length, int site) {
        sites[site]++;
        amounts[site] += length;
    }

    /** Adds up the arrays. */
    public static void multiAllocated(Object array, int site) {
        sites[site]++;
        amounts[site] += arrays(array);
    }

    /** Adds up the objects. */
    public static void callAllocated(Object made, int site) {
        sites[site]++;
        amounts[site] += made == null ? 1L << 40 : 1;
    }

    private static int arrays(Object object) {
        int arrays = 1;
        if (object instanceof Object[] elements)
            for (Object element : elements)
                if (element != null) arrays += arrays(element);
        return arrays;
    }

    /** Prints what was hit, and whether there were calls. */
    public static void print() {
        for (int n = 0; n < lines.length; n++) if (lines[n] > 0) System.out.println("line " + n + " " + lines[n]);
        for (int n = 0; n < sites.length; n++)
            if (sites[n] > 0) System.out.println("site " + n + " " + sites[n] + " " + amounts[n]);
        System.out.println("calls " + (calls > 0));
    }
}
