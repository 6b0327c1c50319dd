package harness;

import java.util.EnumMap;

/** Enums: switches, constants with bodies, methods that the compiler adds. */
public final class Enums {
    enum Colour {
        RED,
        GREEN,
        BLUE;

        Colour next() {
            return values()[(ordinal() + 1) % 3];
        }
    }

    enum Operation {
        PLUS("+") {
            @Override
            int apply(int a, int b) {
                return a + b;
            }
        },
        TIMES("*") {
            @Override
            int apply(int a, int b) {
                return a * b;
            }
        };

        final String sign;

        Operation(String sign) {
            this.sign = sign;
        }

        abstract int apply(int a, int b);
    }

    static int weight(Colour colour) {
        switch (colour) {
            case RED:
                return 1;
            case BLUE:
                return 100;
            default:
                return 10;
        }
    }

    public static void main(String[] args) {
        int n = 300;
        int sum = 0;
        Colour colour = Colour.RED;
        EnumMap<Colour, Integer> map = new EnumMap<>(Colour.class);
        for (int i = 0; i < n; i++) {
            sum += weight(colour);
            map.merge(colour, 1, Integer::sum);
            colour = colour.next();
        }
        for (Operation operation : Operation.values()) {
            sum += operation.apply(3, 4) + operation.sign.length();
        }
        sum += Colour.valueOf("BLUE").ordinal();
        System.out.println("sum " + sum + " " + map);

        // Newer compilers fill the array of values in a separate method.
        int values = declares(Colour.class, "$values") ? 1 : 0;
        String colourArray = "()[Lharness/Enums$Colour;";
        Expect.Of main = Expect.program("harness.Enums");
        main.count("weight(Lharness/Enums$Colour;)I", n);
        // Older compilers keep the switch's table in a separate class, whose initialiser calls
        // values().
        int table = Expect.of("harness.Enums$1").exists() ? 1 : 0;
        // values() is called by next(), for the table, and once for EnumMap and valueOf together.
        main.nested("Colour").count("<clinit>()V", 1).count("$values" + colourArray, values)
                .count("<init>(Ljava/lang/String;I)V", 3)
                .count("next()Lharness/Enums$Colour;", n)
                .count("values" + colourArray, n + table + 1)
                .count("valueOf(Ljava/lang/String;)Lharness/Enums$Colour;", 1);
        main.nested("1").count("<clinit>()V", table);
        main.count("declares(Ljava/lang/Class;Ljava/lang/String;)Z", 1);
        main.nested("Operation").count("<clinit>()V", 1)
                .count("$values()[Lharness/Enums$Operation;", values)
                .count("values()[Lharness/Enums$Operation;", 1)
                .count("<init>(Ljava/lang/String;ILjava/lang/String;)V", 2);
        for (String body : new String[] {"Operation$1", "Operation$2"}) {
            main.nested(body).count("<init>(Ljava/lang/String;ILjava/lang/String;)V", 1)
                    .count("apply(II)I", 1);
        }
        Expect.print();
    }

    static boolean declares(Class<?> type, String method) {
        for (java.lang.reflect.Method m : type.getDeclaredMethods()) {
            if (m.getName().equals(method)) {
                return true;
            }
        }
        return false;
    }
}
