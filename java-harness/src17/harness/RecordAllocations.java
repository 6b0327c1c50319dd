package harness;

import java.util.List;

/**
 * Creates objects of record classes in several ways, and tests one with a pattern. Argument:
 * rounds, default 1000.
 */
public final class RecordAllocations {
    record Point(int x, int y) {
        Point moved(int by) {
            return new Point(x + by, y);
        }
    }

    record Pair<T>(T first, T second) {
        /** A second constructor, which still creates one object. */
        Pair(T both) {
            this(both, both);
        }
    }

    record Checked(int n) {
        Checked {
            if (n % 2 == 1) {
                throw new IllegalArgumentException(); // the object exists all the same
            }
        }
    }

    static volatile Object sink;

    static int round(int i) {
        Point point = new Point(i, 1);
        sink = point;
        sink = point.moved(2);
        sink = new Pair<>(point);
        try {
            sink = new Checked(i);
        } catch (IllegalArgumentException e) {
            sink = e;
        }
        Object o = sink;
        return o instanceof Checked c ? c.n() : point.hashCode() == new Point(i, 1).hashCode() ? 1 : 0;
    }

    public static void main(String[] args) {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += round(i);
        }
        System.out.println("sum " + sum);
        int odd = n / 2;
        ExpectEvents.objects(Point.class, 2L * n + odd);
        ExpectEvents.objects(Pair.class, n);
        ExpectEvents.objects(Checked.class, n);
        for (Class<?> type : List.of(Point.class, Pair.class)) {
            Expect.same(true, type.isRecord());
        }
        Expect.print();
    }
}
