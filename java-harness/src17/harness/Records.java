package harness;

import java.util.HashSet;
import java.util.Set;

/** Records: canonical and compact constructors, accessors, and methods that the compiler adds. */
public final class Records {
    record Point(int x, int y) {
        static int made;

        Point {
            if (x < 0) {
                throw new IllegalArgumentException("x");
            }
            made++;
        }

        Point(int both) {
            this(both, both);
        }

        Point plus(Point other) {
            return new Point(x + other.x(), y + other.y);
        }
    }

    record Pair<A, B>(A first, B second) {
        @Override
        public A first() {
            return first;
        }
    }

    record Empty() {}

    public static void main(String[] args) {
        int n = 100;
        int sum = 0;
        int failed = 0;
        Set<Object> set = new HashSet<>();
        for (int i = 0; i < n; i++) {
            Point p = new Point(i, 1).plus(new Point(2));
            sum += p.x() + p.y();
            var pair = new Pair<>(p, "b" + i);
            sum += pair.first().x() + pair.second().length() + pair.toString().length();
            sum += pair.equals(new Pair<>(p, "b" + i)) ? 1 : 0;
            set.add(new Empty());
            try {
                new Point(-1, i);
            } catch (IllegalArgumentException e) {
                failed++;
            }
        }
        System.out.println("sum " + sum + " set " + set.size() + " failed " + failed + " made " + Point.made);

        Expect.Of main = Expect.program("harness.Records");
        // Accessors are called where the source calls them. equals and similar methods read the
        // fields.
        main.nested("Point").count("<init>(II)V", 4 * n).count("<init>(I)V", n)
                .count("plus(Lharness/Records$Point;)Lharness/Records$Point;", n)
                .count("x()I", 3 * n).count("y()I", n).count("toString()Ljava/lang/String;", n)
                .count("equals(Ljava/lang/Object;)Z", 0);
        main.nested("Pair").count("<init>(Ljava/lang/Object;Ljava/lang/Object;)V", 2 * n)
                .count("first()Ljava/lang/Object;", n).count("second()Ljava/lang/Object;", n)
                .count("toString()Ljava/lang/String;", n).count("equals(Ljava/lang/Object;)Z", n);
        main.nested("Empty").count("<init>()V", n).count("hashCode()I", n)
                .count("equals(Ljava/lang/Object;)Z", n - 1);
        Expect.print();
    }
}
