/**
 * Works at the innermost end of deep stacks. Arguments: number of calls of {@code down} on the main
 * thread; number of calls on the thread {@code deeper}; milliseconds of work for each thread.
 */
public final class Deep {
    static volatile long sink;

    static void down(int calls, long ms) {
        if (calls > 1) {
            down(calls - 1, ms);
        } else {
            spin(ms);
        }
    }

    static void spin(long ms) {
        for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end; ) {
            sink++;
        }
    }

    public static void main(String[] args) throws Exception {
        int calls = Integer.parseInt(args[1]);
        long ms = Long.parseLong(args[2]);
        down(Integer.parseInt(args[0]), ms);
        Thread thread = new Thread(null, () -> down(calls, ms), "deeper", 64 << 20);
        thread.start();
        thread.join();
    }
}
