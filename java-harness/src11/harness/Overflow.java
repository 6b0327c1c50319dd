package harness;

/**
 * StackOverflowError, several times, and normal work after it. The depth is unknown, and an
 * overflow may happen in a hook as well as in the program. So there are ranges for that part, and
 * exact counts for the rest.
 */
public final class Overflow {
    static int deepest;
    static int cleaned;

    static int down(int depth) {
        deepest = depth;
        return down(depth + 1) + 1;
    }

    static int guarded(int depth) {
        deepest = depth;
        try {
            return guarded(depth + 1) + 1;
        } finally {
            cleaned++;
        }
    }

    static class Frame {
        final Frame next;

        Frame(int depth) {
            deepest = depth;
            next = new Frame(depth + 1);
        }
    }

    static int after(int n) {
        return n == 0 ? 0 : 1 + after(n - 1);
    }

    static long overflow(Runnable body) {
        deepest = 0;
        try {
            body.run();
            throw new AssertionError("no overflow");
        } catch (StackOverflowError e) {
            return deepest;
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = 3;
        long[] depths = new long[3];
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < rounds; i++) {
                depths[0] += overflow(() -> {
                    ExpectEvents.leaves("overflow");
                    down(1);
                });
                depths[1] += overflow(() -> {
                    ExpectEvents.leaves("overflow");
                    guarded(1);
                });
                depths[2] += overflow(() -> {
                    ExpectEvents.leaves("overflow");
                    new Frame(1);
                });
                after(50);
            }
        }, "overflow", 1 << 20);
        thread.start();
        thread.join();
        System.out.println("recovered");

        Expect.Of main = Expect.program("harness.Overflow");
        main.count("after(I)I", rounds * 51L).count("overflow(Ljava/lang/Runnable;)J", rounds * 3L);
        main.prefix("lambda$", 1 + rounds * 3L);
        // The last call of each round may have been entered without reaching its first statement.
        // The finally blocks of the guarded form call nothing, so they add no calls.
        main.leftRange("down(I)I", thread.getName(), depths[0], depths[0] + rounds);
        main.leftRange("guarded(I)I", thread.getName(), depths[1], depths[1] + rounds);
        main.nested("Frame").leftRange("<init>(I)V", thread.getName(), depths[2], depths[2] + rounds);
        Expect.print();
    }
}
