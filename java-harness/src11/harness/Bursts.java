package harness;

import java.util.ArrayList;
import java.util.List;

/**
 * Calls for bursts that triggers begin. The first argument says what the program does. This
 * argument and the burst's limit determine which events are in the burst. A round has eight events:
 * the enters and leaves of {@code round}, {@code a}, {@code leaf} and {@code b}.
 */
public final class Bursts {
    private static int sink;

    private Bursts() {}

    static void round() {
        a();
        b();
    }

    static void a() {
        leaf();
    }

    static void b() {
        sink += 2;
    }

    static void leaf() {
        sink++;
    }

    static void before() {
        sink++;
    }

    static void after() {
        sink++;
    }

    static void inner() {
        sink++;
    }

    static void slow(int millis) throws InterruptedException {
        Thread.sleep(millis);
        inner();
    }

    /**
     * Recurses, and sleeps briefly in the innermost call. So the calls are slow, but end too early
     * to be noticed while they last.
     */
    static void nested(int depth) throws InterruptedException {
        if (depth > 0) {
            nested(depth - 1);
        } else {
            Thread.sleep(5);
        }
    }

    static class Own extends IllegalStateException {
        private static final long serialVersionUID = 1;
    }

    static void fail() {
        inner();
        throw new Own();
    }

    static class Made {
        Made() {
            sink++;
        }
    }

    private static void rounds(int count) {
        for (int i = 0; i < count; i++) {
            round();
        }
    }

    private static Thread start(Runnable body, boolean virtual) throws ReflectiveOperationException {
        if (virtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        }
        Thread thread = new Thread(body);
        thread.start();
        return thread;
    }

    /** Runs rounds until the given time has passed. */
    private static void busy(long millis) throws InterruptedException {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) {
            round();
            Thread.sleep(1);
        }
    }

    public static void main(String[] args) throws Exception {
        int count = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        switch (args[0]) {
            case "rounds":
                rounds(count);
                break;
            case "threads":
            case "virtual":
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    threads.add(start(() -> rounds(count), args[0].equals("virtual")));
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                break;
            case "slow":
                slow(10);
                slow(10);
                before();
                slow(1500);
                after();
                break;
            case "slow-end":
                before();
                nested(3);
                after();
                break;
            case "slow-virtual":
                for (int i = 0; i < 4; i++) {
                    boolean isSlow = i == 3;
                    start(() -> {
                        try {
                            slow(isSlow ? 1500 : 10);
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        }
                    }, true).join();
                }
                break;
            case "exception":
                before();
                for (int i = 0; i < 3; i++) {
                    try {
                        fail();
                    } catch (IllegalStateException e) {
                        after();
                    }
                }
                break;
            case "constructor":
                before();
                new Made();
                after();
                break;
            case "busy":
                busy(count);
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
        System.out.println("done " + (sink > 0));
    }
}
