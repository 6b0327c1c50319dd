package harness;

import java.util.Iterator;

/** Inner, nested, anonymous and local classes, and private access between them. */
public final class Nested {
    private int hidden = 1;

    private int bump() {
        return ++hidden;
    }

    final class Inner {
        private int mine = bump();

        final class Innermost {
            int reach() {
                return Nested.this.bump() + mine + inner();
            }
        }

        private int inner() {
            return Nested.this.hidden;
        }
    }

    static final class Plain {
        private final int value;

        private Plain(int value) {
            this.value = value;
        }

        private int secret() {
            return value;
        }
    }

    static Iterable<Integer> range(int n) {
        return new Iterable<Integer>() {
            @Override
            public Iterator<Integer> iterator() {
                return new Iterator<Integer>() {
                    private int at;

                    @Override
                    public boolean hasNext() {
                        return at < n;
                    }

                    @Override
                    public Integer next() {
                        return at++;
                    }
                };
            }
        };
    }

    int local(int n) {
        class Local {
            int compute() {
                return n + bump();
            }
        }
        return new Local().compute();
    }

    public static void main(String[] args) {
        int n = 100;
        int sum = 0;
        Nested me = new Nested();
        for (int i = 0; i < n; i++) {
            Inner inner = me.new Inner();
            sum += inner.new Innermost().reach() + new Plain(i).secret() + me.local(i);
        }
        for (int i : range(n)) {
            sum += i;
        }
        System.out.println("sum " + sum);

        Expect.Of main = Expect.program("harness.Nested");
        main.count("<init>()V", 1).count("bump()I", 3 * n).count("local(I)I", n)
                .count("range(I)Ljava/lang/Iterable;", 1);
        main.nested("Inner").constructor(n).count("inner()I", n);
        main.nested("Inner$Innermost").constructor(n).count("reach()I", n);
        main.nested("Plain").count("<init>(I)V", n).count("secret()I", n);
        main.nested("1").constructor(1).count("iterator()Ljava/util/Iterator;", 1);
        // next() has a bridge, because the interface's method returns an object.
        main.nested("1$1").constructor(1).count("hasNext()Z", n + 1)
                .count("next()Ljava/lang/Integer;", n).count("next()Ljava/lang/Object;", n);
        main.nested("1Local").constructor(n).count("compute()I", n);
        Expect.print();
    }
}
