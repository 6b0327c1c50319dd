package harness;

import java.util.List;

/** Switches over patterns and record patterns, with guards. */
public final class Patterns {
    sealed interface Shape permits Circle, Box, Group {}

    record Circle(int radius) implements Shape {}

    record Box(int width, int height) implements Shape {}

    record Group(Shape first, Shape second) implements Shape {}

    enum Mode {
        FAST,
        SLOW
    }

    static boolean big(int n) {
        return n > 50;
    }

    static int measure(Shape shape) {
        return switch (shape) {
            case Circle(int r) when big(r) -> 1000;
            case Circle(var r) -> 3 * r * r;
            case Box(int w, int h) -> w * h;
            case Group(Circle(int a), Circle(int b)) -> a + b;
            case Group(Shape a, Shape b) -> measure(a) + measure(b);
        };
    }

    static String kind(Object o) {
        return switch (o) {
            case null -> "null";
            case Integer i when i > 10 -> "large";
            case Integer i -> "small";
            case Mode m when m == Mode.FAST -> "fast";
            case String s -> s;
            case int[] array -> "ints" + array.length;
            default -> "other";
        };
    }

    public static void main(String[] args) {
        int n = 100;
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += measure(new Circle(i));
            sum += measure(new Box(i, 2));
            sum += measure(new Group(new Circle(i), new Circle(1)));
            sum += measure(new Group(new Box(i, 1), new Box(1, 1)));
        }
        StringBuilder kinds = new StringBuilder();
        Object[] all = {null, 5, 50, Mode.FAST, Mode.SLOW, "text", new int[3], List.of()};
        for (Object o : all) {
            kinds.append(kind(o)).append(' ');
        }
        System.out.println("sum " + sum + " kinds " + kinds);

        Expect.Of main = Expect.program("harness.Patterns");
        main.count("measure(Lharness/Patterns$Shape;)I", 6 * n);
        main.count("kind(Ljava/lang/Object;)Ljava/lang/String;", all.length).count("big(I)Z", n);
        main.nested("Circle").count("<init>(I)V", 3 * n);
        main.nested("Box").count("<init>(II)V", 3 * n);
        main.nested("Group").count("<init>(Lharness/Patterns$Shape;Lharness/Patterns$Shape;)V", 2 * n);
        // How often a pattern calls a record's accessors is the compiler's choice.
        main.nested("Circle").range("radius()I", 3 * n, 4 * n);
        main.nested("Box").range("width()I", 3 * n, 4 * n).range("height()I", 3 * n, 4 * n);
        main.nested("Group").range("first()Lharness/Patterns$Shape;", 2 * n, 4 * n)
                .range("second()Lharness/Patterns$Shape;", n, 4 * n);
        main.nested("Mode").count("<clinit>()V", 1).count("<init>(Ljava/lang/String;I)V", 2)
                .range("$values()[Lharness/Patterns$Mode;", 0, 1)
                .range("values()[Lharness/Patterns$Mode;", 0, 2);
        Expect.print();
    }
}
