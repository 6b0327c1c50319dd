import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * The work of {@code python3 scripts/bench} that is done in batches. Prints how long each batch
 * took, in ns, and the number of calls of the traced classes, if it is known beforehand. This class
 * is not traced.
 *
 * <p>Arguments: maximum number of batches; seconds after which no third or later batch begins; name
 * of the work; arguments of the work.
 */
public final class BenchWork {
    interface Work {
        void run() throws Exception;
    }

    private BenchWork() {}

    public static void main(String[] args) throws Exception {
        int batches = Integer.parseInt(args[0]);
        long end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
        String[] rest = Arrays.copyOfRange(args, 3, args.length);
        Work work = work(args[2], rest);
        int done = 0;
        do {
            long begin = System.nanoTime();
            work.run();
            System.out.println("batch=" + (System.nanoTime() - begin));
            done++;
        } while (done < batches && (done < 2 || System.nanoTime() < end)); // the first one is cold
        long calls = calls(args[2], rest);
        if (calls > 0) {
            System.out.println("calls=" + done * calls);
        }
        System.out.flush();
    }

    private static Work work(String what, String[] args) throws Exception {
        switch (what) {
            case "fib":
                int n = Integer.parseInt(args[0]);
                return () -> check(WorkFib.fib(n) == fibonacci(n));
            case "threads":
                return () -> threads(Integer.parseInt(args[0]), Integer.parseInt(args[1]));
            case "virtual":
                return () -> virtualThreads(Integer.parseInt(args[0]));
            case "javac":
                return () -> compile(args);
            case "sql":
                String[] statements = new String(Files.readAllBytes(Paths.get(args[0])), "UTF-8").split(";\\s*\\n");
                return () -> sql(statements, Integer.parseInt(args[1]));
            default:
                throw new IllegalArgumentException(what);
        }
    }

    /** Returns the number of calls of traced classes in a batch; 0 if it is unknown. */
    private static long calls(String what, String[] args) {
        switch (what) {
            case "fib":
                return fibCalls(Integer.parseInt(args[0]));
            case "threads":
                long turns = Long.parseLong(args[1]);
                return Long.parseLong(args[0]) * (1 + turns * (4 + fibCalls(WorkThreads.FIB)));
            case "virtual":
                return Long.parseLong(args[0]) * (1 + 2 * fibCalls(WorkVirtual.FIB));
            default:
                return 0;
        }
    }

    private static long fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    /** Returns the number of calls that a recursive fib(n) consists of. */
    private static long fibCalls(int n) {
        return 2 * fibonacci(n + 1) - 1;
    }

    private static void check(boolean isRight) {
        if (!isRight) {
            throw new AssertionError("a wrong result");
        }
    }

    private static void threads(int threads, int turns) throws Exception {
        Thread[] all = new Thread[threads];
        AtomicReference<Throwable> failed = new AtomicReference<>();
        for (int i = 0; i < threads; i++) {
            int seed = i;
            all[i] = new Thread(() -> {
                try {
                    check(WorkThreads.mixed(seed, turns) != 0);
                } catch (Throwable e) {
                    failed.set(e);
                }
            });
            all[i].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        if (failed.get() != null) {
            throw new Exception(failed.get());
        }
    }

    /**
     * Starts virtual threads by reflection: they exist since Java 21, and this class is compiled
     * for 11.
     */
    private static void virtualThreads(int threads) throws Exception {
        java.lang.reflect.Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        CountDownLatch ended = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            int seed = i;
            start.invoke(null, (Runnable) () -> {
                WorkVirtual.work(seed);
                ended.countDown();
            });
        }
        ended.await();
    }

    private static void compile(String[] args) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        if (compiler.run(null, said, said, args) != 0) {
            throw new AssertionError(said.toString());
        }
    }

    /** Executes all statements {@code times} times, each time in a new database in memory. */
    private static void sql(String[] statements, int times) throws Exception {
        for (int i = 0; i < times; i++) {
            long rows = 0;
            try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:", "sa", "");
                    Statement statement = connection.createStatement()) {
                for (String text : statements) {
                    if (statement.execute(text)) {
                        try (ResultSet found = statement.getResultSet()) {
                            while (found.next()) {
                                rows += found.getObject(1) == null ? 0 : 1;
                            }
                        }
                    }
                }
            }
            check(rows > 0);
        }
    }
}

final class WorkFib {
    private WorkFib() {}

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
}

/** The work of each of many threads, which creates objects and recurses a little. */
final class WorkThreads {
    static final int FIB = 8;

    private WorkThreads() {}

    static long mixed(int seed, int turns) {
        long sum = seed + 1;
        for (int i = 0; i < turns; i++) {
            sum = mix(sum + new Part(i).twice() + fib(FIB));
        }
        return sum | 1;
    }

    static long mix(long x) {
        return x * 6364136223846793005L + value(x >>> 33);
    }

    static long value(long x) {
        return x ^ x << 7;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static final class Part {
        private final int value;

        Part(int value) {
            this.value = value;
        }

        int twice() {
            return value * 2;
        }
    }
}

/**
 * The work of each of many virtual threads. Between its two halves, another one may be mounted on
 * the carrier.
 */
final class WorkVirtual {
    static final int FIB = 7;
    static volatile int last;

    private WorkVirtual() {}

    static void work(int seed) {
        int half = fib(FIB);
        Thread.yield();
        last = half + fib(FIB) + seed;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
}

/**
 * A program that does next to nothing. Its main method is not empty, because the JVM may skip a
 * call of an empty method.
 */
final class WorkEmpty {
    private WorkEmpty() {}

    public static void main(String[] args) {
        if (args.length > 0) {
            throw new IllegalArgumentException(args[0]);
        }
    }
}
