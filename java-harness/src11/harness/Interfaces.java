package harness;

/**
 * Default, static and private methods of interfaces; diamonds; calls of a superinterface's method.
 */
public final class Interfaces {
    interface Shape {
        double area();

        default String describe() {
            return name() + format(area());
        }

        default String name() {
            return "shape";
        }

        private String format(double value) {
            return "[" + round(value) + "]";
        }

        private static long round(double value) {
            return Math.round(value);
        }

        static Shape unit() {
            return () -> 1.0;
        }
    }

    interface Named extends Shape {
        @Override
        default String name() {
            return "named " + Shape.super.name();
        }
    }

    static class Square implements Shape {
        final double side;

        Square(double side) {
            this.side = side;
        }

        @Override
        public double area() {
            return side * side;
        }
    }

    static final class Tile extends Square implements Named, Cloneable {
        Tile(double side) {
            super(side);
        }

        @Override
        public String name() {
            return "tile " + Named.super.name();
        }
    }

    public static void main(String[] args) {
        int n = 200;
        int length = 0;
        Shape unit = Shape.unit();
        for (int i = 0; i < n; i++) {
            for (Shape shape : new Shape[] {new Square(i), new Tile(i), unit}) {
                length += shape.describe().length();
            }
        }
        System.out.println("length " + length + " " + new Tile(3).describe());

        Expect.Of main = Expect.program("harness.Interfaces");
        int calls = 3 * n + 1;
        main.nested("Shape").count("describe()Ljava/lang/String;", calls)
                .count("name()Ljava/lang/String;", calls)
                .count("format(D)Ljava/lang/String;", calls).count("round(D)J", calls)
                .count("unit()Lharness/Interfaces$Shape;", 1).prefix("lambda$unit$", n);
        main.nested("Named").count("name()Ljava/lang/String;", n + 1);
        main.nested("Square").count("<init>(D)V", 2 * n + 1).count("area()D", 2 * n + 1);
        main.nested("Tile").count("<init>(D)V", n + 1).count("name()Ljava/lang/String;", n + 1);
        Expect.print();
    }
}
