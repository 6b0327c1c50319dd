package harness;

import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/** Lambdas, captures, and all kinds of method references. */
public final class Lambdas {
    private final int base;

    Lambdas(int base) {
        this.base = base;
    }

    static int twice(int n) {
        return 2 * n;
    }

    int plus(int n) {
        return base + n;
    }

    private Supplier<Integer> capture(int a, long b, String c) {
        return () -> base + a + (int) b + c.length();
    }

    static <A, B, C> Function<A, C> then(Function<A, B> f, Function<B, C> g) {
        return a -> g.apply(f.apply(a));
    }

    static int recursive(IntBinaryOperator[] self, int n) {
        return self[0].applyAsInt(n, 0);
    }

    static <T> T call(Callable<T> body) throws Exception {
        return body.call();
    }

    public static void main(String[] args) throws Exception {
        int n = 500;
        long sum = 0;
        Lambdas me = new Lambdas(3);
        Function<Integer, Integer> reference = Lambdas::twice;
        Function<Integer, Integer> bound = me::plus;
        BiFunction<Lambdas, Integer, Integer> unbound = Lambdas::plus;
        Function<Integer, Lambdas> constructor = Lambdas::new;
        Function<Integer, int[]> array = int[]::new;
        Function<Integer, Integer> chain = then(then(reference, bound), x -> x + 1);
        IntPredicate even = x -> x % 2 == 0;
        for (int i = 0; i < n; i++) {
            sum += reference.apply(i) + bound.apply(i) + unbound.apply(me, i);
            sum += constructor.apply(i).base + array.apply(3).length + chain.apply(i);
            sum += even.and(x -> x > 10).test(i) ? 1 : 0;
            sum += me.capture(i, 2L, "abc").get();
        }
        IntBinaryOperator[] self = new IntBinaryOperator[1];
        self[0] = (k, acc) -> k == 0 ? acc : self[0].applyAsInt(k - 1, acc + 1);
        sum += recursive(self, 30);
        String[] words = {"pear", "fig", "apple"};
        Arrays.sort(words, Comparator.comparing(String::length));
        int failed = 0;
        try {
            call(() -> {
                throw new IllegalStateException("in lambda");
            });
        } catch (IllegalStateException e) {
            failed++;
        }
        System.out.println("sum " + sum + " first " + words[0] + " failed " + failed);

        Expect.Of main = Expect.program("harness.Lambdas");
        main.count("<init>(I)V", 1 + n).count("twice(I)I", 2 * n).count("plus(I)I", 3 * n);
        main.count("capture(IJLjava/lang/String;)Ljava/util/function/Supplier;", n);
        main.prefix("lambda$capture$", n);
        main.count("then(Ljava/util/function/Function;Ljava/util/function/Function;)"
                + "Ljava/util/function/Function;", 2);
        main.prefix("lambda$then$", 2 * n);
        main.count("recursive([Ljava/util/function/IntBinaryOperator;I)I", 1);
        main.count("call(Ljava/util/concurrent/Callable;)Ljava/lang/Object;", 1);
        // Calls of lambdas: x + 1; even; x > 10 for the even numbers; the lambda that javac
        // generates for int[]::new; the recursive one; the one that throws.
        main.prefix("lambda$main$", n + n + n / 2 + n + 31 + 1);
        Expect.print();
    }
}
