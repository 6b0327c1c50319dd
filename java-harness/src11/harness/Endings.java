package harness;

import java.util.concurrent.CountDownLatch;

/**
 * The ways in which a program can end. The argument chooses one. The program prints its counts
 * before it ends, but they include what it still does at its end.
 */
public final class Endings {
    static final int HOOK_CALLS = 7;

    static int work(int n) {
        return n == 0 ? 0 : 1 + work(n - 1);
    }

    static void exit(int code) {
        System.exit(code);
    }

    static void halt() {
        Runtime.getRuntime().halt(5);
    }

    static void fail() {
        throw new IllegalStateException("uncaught on purpose");
    }

    static void hook() {
        for (int i = 0; i < HOOK_CALLS; i++) {
            work(0);
        }
    }

    static void sleep() {
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Recurses, counts {@code bottom} down in the innermost call, and stays there. */
    static void deep(int n, CountDownLatch bottom) {
        if (n > 0) {
            deep(n - 1, bottom);
        } else {
            bottom.countDown();
            sleep();
        }
    }

    /** Runs as long as the JVM lives, so its counts have no upper bound. */
    static void busy(CountDownLatch started) {
        for (int i = 0; ; i++) {
            spin(i);
            if (i == 1000) {
                started.countDown();
            }
        }
    }

    static int spin(int n) {
        return n + 1;
    }

    static Thread start(String name, boolean daemon, Runnable body) {
        Thread thread = new Thread(null, body, name, 64 << 20);
        thread.setDaemon(daemon);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        String how = args.length > 0 ? args[0] : "return";
        CountDownLatch latch = new CountDownLatch(1);
        Expect.Of main = Expect.program("harness.Endings");
        work(100);
        main.count("work(I)I", 101);
        switch (how) {
            case "return":
                break;
            case "exit":
                main.count("exit(I)V", 1);
                Expect.print();
                exit(3);
                break;
            case "exit-thread":
                main.count(START, 1).count("exit(I)V", 1).count("sleep()V", 1).prefix("lambda$main$", 1);
                Expect.print();
                Thread caller = Thread.currentThread();
                start("exiting", false, () -> {
                    while (caller.getState() != Thread.State.TIMED_WAITING) {
                        Thread.yield();
                    }
                    exit(4);
                });
                sleep();
                break;
            case "halt":
                main.count("halt()V", 1);
                Expect.print();
                halt();
                break;
            case "uncaught":
                main.count("fail()V", 1);
                Expect.print();
                fail();
                break;
            case "uncaught-thread":
                main.count(START, 1).count("fail()V", 1);
                start("failing", false, Endings::fail).join();
                break;
            case "daemon":
                // One thread sleeps in its calls when the JVM ends, another one is busy with calls.
                main.count(START, 2).prefix("lambda$main$", 2);
                main.count(DEEP, 11).count("sleep()V", 1).count(BUSY, 1);
                main.range("spin(I)I", 1000, Long.MAX_VALUE);
                start("sleeper", true, () -> deep(10, latch));
                latch.await();
                CountDownLatch started = new CountDownLatch(1);
                start("runner", true, () -> busy(started));
                started.await();
                break;
            case "deep":
                main.count(START, 1).prefix("lambda$main$", 1).count("exit(I)V", 1);
                main.count(DEEP, 10_001).count("sleep()V", 1);
                start("deep", false, () -> deep(10_000, latch));
                latch.await();
                Expect.print();
                exit(6);
                break;
            case "hook":
                main.count("hook()V", 1).count("work(I)I", HOOK_CALLS);
                Runtime.getRuntime().addShutdownHook(new Thread(Endings::hook, "hook"));
                break;
            case "hook-exit":
                main.count("hook()V", 1).count("work(I)I", HOOK_CALLS).count("exit(I)V", 1);
                Runtime.getRuntime().addShutdownHook(new Thread(Endings::hook, "hook"));
                Expect.print();
                exit(7);
                break;
            case "term":
                // For SIGTERM and for kill -9: the program prints [ready] and waits.
                main.count("sleep()V", 1).count("hook()V", 1).count("work(I)I", HOOK_CALLS);
                Runtime.getRuntime().addShutdownHook(new Thread(Endings::hook, "hook"));
                Expect.print();
                System.out.println("[ready]");
                sleep();
                break;
            case "busy":
                // Like term, but the program is in the middle of calls.
                main.count(BUSY, 1).range("spin(I)I", 1000, Long.MAX_VALUE).count(START, 1);
                main.prefix("lambda$main$", 1);
                Expect.print();
                start("ready", true, () -> {
                    try {
                        latch.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    System.out.println("[ready]");
                });
                busy(latch);
                break;
            case "last-thread":
                // main returns first. The JVM ends with the other thread.
                main.count(START, 1).prefix("lambda$main$", 1).count("work(I)I", 51);
                start("last", false, () -> {
                    try {
                        Thread.sleep(200);
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    work(50);
                });
                break;
            default:
                throw new IllegalArgumentException(how);
        }
        Expect.print();
    }

    private static final String START = "start(Ljava/lang/String;ZLjava/lang/Runnable;)Ljava/lang/Thread;";
    private static final String DEEP = "deep(ILjava/util/concurrent/CountDownLatch;)V";
    private static final String BUSY = "busy(Ljava/util/concurrent/CountDownLatch;)V";
}
