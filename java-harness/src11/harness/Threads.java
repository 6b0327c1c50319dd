package harness;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Many platform threads: short ones, threads in groups, with odd names, started by other threads.
 * Argument: number of short threads, default 200.
 */
public final class Threads {
    static final AtomicLong SUM = new AtomicLong();

    static void work(int n) {
        for (int i = 0; i < n; i++) {
            SUM.addAndGet(step(i));
        }
    }

    static int step(int n) {
        return n & 1;
    }

    /** Starts two threads, each of which does the same, down to depth 0. */
    static void tree(int depth) {
        step(depth);
        if (depth == 0) {
            return;
        }
        Thread[] children = new Thread[2];
        for (int i = 0; i < 2; i++) {
            children[i] = new Thread(() -> tree(depth - 1), "tree-" + depth + "." + i);
            children[i].start();
        }
        join(children);
    }

    static void join(Thread... threads) {
        for (Thread t : threads) {
            try {
                t.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static final class Own extends Thread {
        Own(ThreadGroup group, String name) {
            super(group, name);
        }

        @Override
        public void run() {
            work(10);
        }
    }

    static void fail() {
        throw new IllegalStateException("uncaught on purpose");
    }

    static void rename() {
        step(0);
        Thread.currentThread().setName("renamed");
        step(1);
    }

    public static void main(String[] args) throws Exception {
        int shorts = args.length > 0 ? Integer.parseInt(args[0]) : 200;
        Thread[] brief = new Thread[shorts];
        for (int i = 0; i < shorts; i++) {
            brief[i] = new Thread(() -> work(20), "short-" + i);
            brief[i].start();
        }
        join(brief);
        // These threads start at once, so that many are alive together.
        int together = 50;
        CountDownLatch ready = new CountDownLatch(together);
        Thread[] crowd = new Thread[together];
        for (int i = 0; i < together; i++) {
            crowd[i] = new Thread(() -> {
                ready.countDown();
                try {
                    ready.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                work(100);
            }, "crowd-" + i);
            crowd[i].start();
        }
        join(crowd);
        ThreadGroup outer = new ThreadGroup("outer <&\"group\">");
        ThreadGroup inner = new ThreadGroup(outer, "inner");
        String[] names = {
            "", " ", "a\"quote'", "<xml & co>", "tab\tline\nend", "null\0byte", "\u00e4\u4e2d\ud83d\ude00",
            "lone\ud800surrogate", "same", "same", "comma,semi;colon:"
        };
        Own[] odd = new Own[names.length];
        for (int i = 0; i < names.length; i++) {
            odd[i] = new Own(i % 2 == 0 ? outer : inner, names[i]);
            odd[i].start();
        }
        join(odd);
        int depth = 4;
        tree(depth);
        Thread failing = new Thread(Threads::fail, "failing");
        failing.setUncaughtExceptionHandler((t, e) -> step(1));
        failing.start();
        Thread renaming = new Thread(Threads::rename, "before");
        renaming.start();
        join(failing, renaming);
        int tasks = 500;
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < tasks; i++) {
            pool.execute(() -> work(2));
        }
        pool.shutdown();
        Expect.same(true, pool.awaitTermination(60, TimeUnit.SECONDS));
        System.out.println("sum " + SUM);

        int treeThreads = (1 << (depth + 1)) - 2;
        Expect.Of main = Expect.program("harness.Threads");
        main.count("<clinit>()V", 1);
        main.count("work(I)V", shorts + together + names.length + tasks);
        main.count("step(I)I", 20L * shorts + 100L * together + 10L * names.length + 2L * tasks
                + treeThreads + 1 + 1 + 2);
        main.count("tree(I)V", treeThreads + 1).count("fail()V", 1).count("rename()V", 1);
        // One call for each inner node of the tree, then brief, crowd, odd, and the last two
        // threads.
        main.count("join([Ljava/lang/Thread;)V", (1 << depth) - 1 + 4);
        main.prefix("lambda$tree$", treeThreads);
        main.prefix("lambda$main$", shorts + together + 1 + tasks);
        main.nested("Own").count("<init>(Ljava/lang/ThreadGroup;Ljava/lang/String;)V", names.length)
                .count("run()V", names.length);
        Expect.fact("threads", shorts + together + names.length + treeThreads + 2 + 4);
        Expect.print();
    }
}
