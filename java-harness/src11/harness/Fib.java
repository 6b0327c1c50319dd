package harness;

/** The simplest program: many calls, and nothing else. Argument: n, default 25. */
public final class Fib {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    public static void main(String[] args) {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 25;
        System.out.println("fib(" + n + ") = " + fib(n));
        long previous = 1;
        long calls = 1;
        for (int i = 2; i <= n; i++) {
            long next = 1 + calls + previous;
            previous = calls;
            calls = next;
        }
        Expect.program("harness.Fib").count("fib(I)I", calls);
        Expect.print();
    }
}
