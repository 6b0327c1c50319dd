package harness;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;

/**
 * Methods that are called so often that a JVM with a compiler compiles them. The program goes on
 * until the compiler has had nothing to do for a while.
 */
public final class Hot {
    static volatile long sink;

    static int leaf(int n) {
        return n * 31 + 7;
    }

    static long caller(int n) {
        long sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += leaf(n + i);
        }
        return sum;
    }

    static int recursive(int n) {
        return n <= 1 ? 1 : recursive(n - 1) + recursive(n - 2);
    }

    static synchronized int guarded(int n) {
        return n ^ 5;
    }

    static int attempt(int n) {
        try {
            return 100 / (n % 4);
        } catch (ArithmeticException e) {
            return -1;
        }
    }

    interface Shape {
        int area(int n);
    }

    static final class Square implements Shape {
        @Override
        public int area(int n) {
            return n * n;
        }
    }

    static final class Line implements Shape {
        @Override
        public int area(int n) {
            return 0 * n;
        }
    }

    /** Called once, so that it is compiled in the middle of its loop. */
    static long loop(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i % 7;
        }
        return sum;
    }

    static long round() {
        long sum = 0;
        Shape[] shapes = {new Square(), new Line()};
        for (int i = 0; i < 20_000; i++) {
            sum += caller(i) + leaf(i) + guarded(i) + attempt(i) + shapes[i % 2].area(i);
        }
        return sum + recursive(18);
    }

    static long compileTime(CompilationMXBean compiler) {
        return compiler.isCompilationTimeMonitoringSupported() ? compiler.getTotalCompilationTime() : 0;
    }

    public static void main(String[] args) throws Exception {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        if (compiler == null || System.getProperty("java.vm.info", "").contains("interpreted mode")) {
            Expect.skip("no compiler");
        }
        sink = loop(20_000_000);
        long first = round();
        long quiet = 0;
        long last = compileTime(compiler);
        for (int i = 1; i < 100 && (i < 15 || quiet < 5); i++) {
            Expect.same(first, round());
            Thread.sleep(50);
            long time = compileTime(compiler);
            quiet = time == last ? quiet + 1 : 0;
            last = time;
        }
        System.out.println("sum " + first);
        for (String method : new String[] {"leaf(I)I", "caller(I)J", "recursive(I)I", "guarded(I)I",
                "attempt(I)I", "loop(I)J"}) {
            ExpectEvents.compiled("harness.Hot." + method);
        }
        ExpectEvents.compiled("harness.Hot$Square.area(I)I");
        ExpectEvents.compiled("harness.Hot$Line.area(I)I");
        Expect.print();
    }
}
