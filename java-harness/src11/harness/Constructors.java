package harness;

import java.util.function.IntFunction;

/** Constructors: chains, initialisers, and exceptions before, in and after super(). */
public final class Constructors {
    static final class Failure extends RuntimeException {
        Failure(String message) {
            super(message, null, false, false);
        }
    }

    static class Base {
        final int value;

        Base(int value) {
            this.value = value;
            if (value < 0) {
                throw new Failure("base");
            }
        }

        Base() {
            this(7);
        }
    }

    static class Middle extends Base {
        final int twice;

        {
            twice = initialiser(value);
        }

        Middle(int value) {
            super(argument(value));
        }

        Middle(int a, int b) {
            // Branches before super(): their stack map frames have an uninitialised this.
            super(a > 0 && b > 0 ? argument(a) : a < 0 || b < 0 ? argument(-b) : 0);
            if (a == b) {
                throw new Failure("body");
            }
        }

        Middle() {
            this(5);
        }

        static int argument(int value) {
            if (value == 13) {
                throw new Failure("argument");
            }
            return value;
        }

        int initialiser(int value) {
            if (value == 99) {
                throw new Failure("initialiser");
            }
            return 2 * value;
        }
    }

    static final class Leaf extends Middle {
        final Base other;

        Leaf(int value) {
            super(value);
            try {
                other = new Base(-value);
            } finally {
                last = value;
            }
        }

        static int last;
    }

    /**
     * A superclass whose constructor creates a {@link Node}, recursively, until one fails. The
     * stack frames of {@link Node} get no leave event of their own.
     */
    static class Holder {
        Holder(int n, int catchAt) {
            if (n == 0) {
                throw new Failure("bottom");
            }
            if (n == catchAt) {
                try {
                    new Node(n - 1, catchAt);
                } catch (Failure expected) {
                    // continue as if nothing had happened
                }
            } else {
                new Node(n - 1, catchAt);
            }
        }
    }

    static final class Node extends Holder {
        Node(int n, int catchAt) {
            super(n, catchAt);
        }
    }

    /**
     * Like {@link Holder}, but each constructor tries twice: the failed constructor runs again at
     * once.
     */
    static class Twice {
        Twice(int n) {
            if (n > 0) {
                for (int i = 0; i < 2; i++) {
                    try {
                        new Again(n - 1);
                    } catch (Failure expected) {
                        // try once more
                    }
                }
            }
            throw new Failure("always");
        }
    }

    static final class Again extends Twice {
        Again(int n) {
            super(n);
        }
    }

    /** A class in which an exception passes through the arguments of super(), under recursion. */
    static final class Through extends Base {
        Through(int n) {
            super(n == 0 ? Middle.argument(13) : new Through(n - 1).value);
        }
    }

    class Inner {
        final int sum;

        Inner(int a, long b, double c) {
            sum = (int) (a + b + c) + outer();
        }
    }

    int outer() {
        return 1;
    }

    static int attempt(IntFunction<?> make, int argument) {
        try {
            make.apply(argument);
            return 0;
        } catch (Failure f) {
            return 1;
        }
    }

    /**
     * Constructs an object. A failure leaves this method's stack frame, too, before {@link
     * #attempt} catches the exception.
     */
    static Object deeper(int n) {
        return new Node(n, -1);
    }

    public static void main(String[] args) {
        int failures = 0;
        new Base();
        new Middle();
        failures += attempt(Base::new, -1);
        failures += attempt(Middle::new, -1);
        failures += attempt(Middle::new, 13);
        failures += attempt(Middle::new, 99);
        failures += attempt(Middle::new, 4);
        new Middle(1, 2);
        new Middle(0, 1);
        try {
            new Middle(3, 3);
        } catch (Failure f) {
            failures++;
        }
        try {
            new Middle(-1, 13);
        } catch (Failure f) {
            failures++;
        }
        failures += attempt(Leaf::new, 0);
        failures += attempt(Leaf::new, 8);
        new Node(10, 5);
        for (int i = 0; i < 3; i++) {
            failures += attempt(Constructors::deeper, 20);
        }
        try {
            new Again(6);
        } catch (Failure f) {
            failures++;
        }
        failures += attempt(Through::new, 9);
        Constructors me = new Constructors();
        Inner inner = me.new Inner(1, 2, 3);
        Base anonymous = new Base(6) {
            final int more = value + 1;

            {
                Middle.argument(more);
            }
        };
        System.out.println("failures " + failures + " inner " + inner.sum + " anonymous "
                + anonymous.value + " last " + Leaf.last);

        Expect.Of main = Expect.program("harness.Constructors");
        main.count("attempt(Ljava/util/function/IntFunction;I)I", 5 + 2 + 3 + 1);
        main.count("deeper(I)Ljava/lang/Object;", 3);
        main.count("<init>()V", 1).count("outer()I", 1);
        main.nested("Inner").constructor(1);
        main.nested("1").constructor(1);
        // The calls of <init>(I)V are made by: Base(); Base(-1); Middle(); Middle of -1, 99 and 4,
        // as 13 fails before; all four pairs; Leaf of 0 and 8, each with its field other; the
        // anonymous class. Through never gets there.
        main.nested("Base").count("<init>()V", 1).count("<init>(I)V", 1 + 1 + 1 + 3 + 4 + 4 + 1);
        main.nested("Middle")
                .count("<init>()V", 1)
                .count("<init>(I)V", 1 + 4 + 2)
                .count("<init>(II)V", 4)
                // One call for each of <init>(I)V; three of the pairs, of which (-1,13) passes -13;
                // Through; the anonymous class.
                .count("argument(I)I", 7 + 3 + 1 + 1)
                // Not called for -1 and 13. (-1,13) fails in Base with -13.
                .count("initialiser(I)I", 1 + 2 + 3 + 2);
        main.nested("Leaf").count("<init>(I)V", 2);
        main.nested("Node").count("<init>(II)V", 11 + 3 * 21);
        main.nested("Holder").count("<init>(II)V", 11 + 3 * 21);
        main.nested("Again").count("<init>(I)V", 127);
        main.nested("Twice").count("<init>(I)V", 127);
        main.nested("Through").count("<init>(I)V", 10);
        long thrown = 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 3 + 127 + 1;
        main.nested("Failure").count("<init>(Ljava/lang/String;)V", thrown);
        Expect.same(12, failures);
        Expect.print();
    }
}
