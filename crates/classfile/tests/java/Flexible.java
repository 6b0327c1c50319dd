/** Constructors with statements before super(), which Java 25 allows. */
public class Flexible {
    static int arg(int n) {
        if (n < 0) throw new IllegalStateException();
        return n;
    }

    static class Base {
        final int n;
        Base(int n) { this.n = n; }
    }

    static class Catching extends Base {
        final int early;
        Catching(int n) {
            int got;
            try {
                got = arg(n);
            } catch (IllegalStateException e) {
                got = arg(100);
            }
            this.early = got + 1;
            for (int i = 0; i < 2; i++) got += arg(i);
            super(got);
            try {
                arg(n);
            } catch (IllegalStateException e) {
                arg(200);
            }
        }
    }

    public static String catching() {
        Catching a = new Catching(1);
        Catching b = new Catching(-1);
        return a.n + "," + a.early + "," + b.n + "," + b.early;
    }

    static class Refusing extends Base {
        Refusing(int n) {
            if (n > 3) throw new IllegalArgumentException();
            super(n);
        }
    }

    public static int refusing() { return new Refusing(2).n + new Refusing(4).n; }

    static class Finally extends Base {
        Finally(int n) {
            try {
                n = arg(n);
            } finally {
                n = n + arg(7);
            }
            super(n);
        }
    }

    public static int withFinally() { return new Finally(1).n + new Finally(-1).n; }

    record Pair(int a, int b) {
        Pair {
            if (a > b) throw new IllegalArgumentException();
        }
        Pair(int a) {
            var b = arg(a);
            this(a, b);
        }
    }

    public static String records() { return new Pair(3).toString(); }
}
