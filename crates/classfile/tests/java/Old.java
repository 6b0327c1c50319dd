/** Constructs that a class file of Java 1.1 can hold: no lambdas, no class literals, no enums. */
public class Old {
    static int arg(int n) {
        if (n < 0) throw new IllegalStateException();
        return n;
    }

    static class Base {
        final int n;
        Base(int n) { this.n = n; }
    }

    static class Sub extends Base {
        Sub(int n) { super(n > 5 ? arg(n) : new Sub(n + 3).n); }
        Sub(int a, int b) {
            this(a);
            try {
                arg(b);
            } catch (IllegalStateException e) {
                arg(1);
            }
        }
    }

    public static int constructors() { return new Sub(4, -1).n; }

    public static int thrown() { return new Sub(-4, 1).n + arg(-1); }

    public static int switched() {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            switch (i) {
                case 0: sum += arg(5); break;
                case 1: sum += 10; break;
                default: sum += 100;
            }
            switch (i * 1000) {
                case 0: sum += 1; break;
                case 1000: sum += arg(2);
            }
        }
        return sum;
    }

    public static String locked() {
        Object lock = new Object();
        try {
            synchronized (lock) {
                try {
                    arg(-1);
                } finally {
                    arg(3);
                }
            }
            return "?";
        } catch (RuntimeException e) {
            return e.getClass().getName() + Thread.holdsLock(lock);
        }
    }
}
