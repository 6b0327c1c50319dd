/**
 * The hooks of the counting tests. They count the hits of each line number and allocation site, and
 * sum up the amounts that were allocated.
 */
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

    /** Adds the array's length to the amount of the site. */
    public static void arrayAllocated(int length, int site) {
        sites[site]++;
        amounts[site] += length;
    }

    /** Adds the number of arrays to the amount of the site. */
    public static void multiAllocated(Object array, int site) {
        sites[site]++;
        amounts[site] += arrays(array);
    }

    /** Adds 1 to the amount of the site, for the created object. */
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

    /** Prints the counts that are not zero, and whether there were any calls. */
    public static void print() {
        for (int n = 0; n < lines.length; n++) if (lines[n] > 0) System.out.println("line " + n + " " + lines[n]);
        for (int n = 0; n < sites.length; n++)
            if (sites[n] > 0) System.out.println("site " + n + " " + sites[n] + " " + amounts[n]);
        System.out.println("calls " + (calls > 0));
    }
}
