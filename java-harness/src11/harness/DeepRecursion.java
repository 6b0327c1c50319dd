package harness;

/** Deep stacks, on a thread with a large stack. Argument: depth, default 10000. */
public final class DeepRecursion {
    static int down(int n) {
        return n == 0 ? 0 : 1 + down(n - 1);
    }

    static int even(int n, long a, double b) {
        return n == 0 ? (int) (a + b) : odd(n - 1, a + 1, b, null);
    }

    static int odd(int n, long a, double b, Object o) {
        return n == 0 ? -1 : even(n - 1, a, b + 1);
    }

    static void unwind(int n) {
        if (n == 0) {
            throw new IllegalStateException("bottom");
        }
        unwind(n - 1);
    }

    static void work(int depth) {
        System.out.println("down " + down(depth) + " even " + even(depth, 0, 0));
        try {
            unwind(depth);
        } catch (IllegalStateException e) {
            System.out.println("unwound");
        }
    }

    public static void main(String[] args) throws Exception {
        int depth = args.length > 0 ? Integer.parseInt(args[0]) : 10_000;
        Thread thread = new Thread(null, () -> work(depth), "deep", 512L << 20);
        thread.start();
        thread.join();
        Expect.Of main = Expect.program("harness.DeepRecursion");
        main.prefix("lambda$", 1).count("work(I)V", 1).count("down(I)I", depth + 1);
        main.count("even(IJD)I", depth / 2 + 1).count("odd(IJDLjava/lang/Object;)I", (depth + 1) / 2);
        main.count("unwind(I)V", depth + 1);
        Expect.fact("depth", depth);
        Expect.print();
    }
}
