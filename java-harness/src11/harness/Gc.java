package harness;

import java.lang.ref.WeakReference;

/** Collections and allocations. Argument: number of collections, default 5. */
public final class Gc {
    static final class Box {
        final long[] payload;

        Box(int size) {
            payload = new long[size];
        }
    }

    static Box kept;

    static void allocate(int n) {
        for (int i = 0; i < n; i++) {
            Box box = new Box(16);
            if (i % 100 == 0) {
                kept = box;
            }
        }
    }

    static boolean collects() {
        WeakReference<Object> reference = new WeakReference<>(new Object());
        System.gc();
        return reference.get() == null;
    }

    public static void main(String[] args) {
        int collections = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        int boxes = 1000;
        int cleared = 0;
        for (int i = 0; i < collections; i++) {
            allocate(boxes);
            cleared += collects() ? 1 : 0;
        }
        System.out.println("cleared " + cleared);
        Expect.Of main = Expect.program("harness.Gc");
        main.count("allocate(I)V", collections).count("collects()Z", collections);
        main.nested("Box").count("<init>(I)V", (long) collections * boxes);
        // At least, because the JVM may collect by itself, too.
        Expect.fact("min-collections", collections);
        Expect.fact("boxes", collections * boxes);
        Expect.fact("long-arrays-of-16", collections * boxes);
        Expect.print();
    }
}
