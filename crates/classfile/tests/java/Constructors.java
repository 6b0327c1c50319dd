/** Constructors of all kinds, with known events. */
public class Constructors {
    static int arg(int n) {
        if (n < 0) throw new IllegalStateException();
        return n;
    }

    static class Base {
        final int n;
        Base(int n) {
            if (n == 13) throw new IllegalArgumentException();
            this.n = n;
        }
    }

    static class Plain extends Base {
        Plain(int n) { super(n); }
    }

    public static int plain() { return new Plain(3).n; }

    /** The exception leaves super(), so no hook of the subclass's constructor is called for it. */
    public static int thrownBySuper() { return new Plain(13).n; }

    static class WithCall extends Base {
        WithCall(int n) { super(arg(n)); }
    }

    public static int withCall() { return new WithCall(4).n; }
    public static int thrownBeforeSuper() { return new WithCall(-1).n; }

    static class Chained extends Base {
        Chained() { this(7); arg(1); }
        Chained(int n) { super(n); }
    }

    public static int chained() { return new Chained().n; }

    static class Late extends Base {
        Late(int n) {
            super(1);
            arg(n);
        }
    }

    public static int thrownAfterSuper() { return new Late(-1).n; }

    static class Nested extends Base {
        final Nested inner;
        Nested(int n) { super(n); inner = null; }
        Nested(Nested inner) { super(inner.n); this.inner = inner; }
        Nested(int a, int b) { this(new Nested(new Nested(a + b))); }
    }

    public static int nested() { return new Nested(1, 2).inner.inner.n; }

    static class Choosing extends Base {
        Choosing(int n) { super(n > 0 ? arg(n) : n == 0 ? new Plain(5).n : 6); }
    }

    public static String choosing() { return new Choosing(1).n + "," + new Choosing(0).n + "," + new Choosing(-1).n; }

    static class Catching extends Base {
        int result;
        Catching(int n) {
            super(n);
            try {
                result = arg(-n);
            } catch (IllegalStateException e) {
                result = arg(2);
            }
            if (n == 5) return;
            result++;
        }
    }

    public static String catching() { return new Catching(1).result + "," + new Catching(5).result; }

    class Member {
        final int n;
        Member() { n = 2; }
    }

    public static int member() { return new Constructors().new Member().n; }

    static class Outer extends Base {
        Outer() { super(8); }
        class Inner extends Base {
            Inner() { super(Outer.this.n); }
        }
    }

    public static int inner() { return new Outer().new Inner().n; }

    static class Recursive extends Base {
        Recursive(int n) { super(n == 0 ? 13 : new Recursive(n - 1).n); }
    }

    public static int recursive() {
        try {
            return new Recursive(2).n;
        } catch (IllegalArgumentException e) {
            return -1;
        }
    }

    static class Weird extends RuntimeException {
        Weird(String s) { super(s, null, false, false); }
    }

    public static int exception() {
        try {
            throw new Weird("x");
        } catch (Weird e) {
            return 1;
        }
    }
}
