package harness;

import java.util.concurrent.CountDownLatch;

/** Thread groups in groups, and threads that change their names. */
public final class Groups {
    static int runs;

    static synchronized void run() {
        runs++;
    }

    static Thread start(ThreadGroup group, String name, Runnable body) throws InterruptedException {
        Thread t = new Thread(group, body, name);
        t.start();
        t.join();
        ExpectEvents.group(name, group);
        return t;
    }

    static void renameSelf(String... names) {
        for (String name : names) {
            run();
            Thread.currentThread().setName(name);
        }
        run();
    }

    public static void main(String[] args) throws Exception {
        ThreadGroup main = Thread.currentThread().getThreadGroup();
        ThreadGroup outer = new ThreadGroup("outer group");
        ThreadGroup inner = new ThreadGroup(outer, "inner <&\"group\">");
        ThreadGroup deepest = new ThreadGroup(inner, "\u00e4\u4e2d");
        ExpectEvents.group("main", main);
        start(main, "in main", Groups::run);
        start(outer, "in outer", Groups::run);
        start(inner, "in inner", Groups::run);
        start(deepest, "in deepest", Groups::run);
        start(new ThreadGroup(deepest, ""), "in nameless", Groups::run);
        // A thread without a group of its own is put into its parent's group.
        start(deepest, "parent", () -> {
            Thread child = new Thread(Groups::run, "child");
            child.start();
            try {
                child.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        ExpectEvents.group("child", deepest);

        start(main, "before", () -> renameSelf("after"));
        ExpectEvents.renamed("before", "after");
        start(outer, "first", () -> renameSelf("second", "third \u00e4", "last name"));
        ExpectEvents.renamed("first", "last name");
        start(main, "same", () -> renameSelf("same"));
        start(main, "there", () -> renameSelf("elsewhere", "there"));

        // The main thread renames another thread: before it starts, and while it runs.
        CountDownLatch renamed = new CountDownLatch(1);
        Thread other = new Thread(main, () -> {
            run();
            try {
                renamed.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            run();
        }, "never seen");
        other.setName("by others");
        other.start();
        while (other.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        other.setName("by main");
        renamed.countDown();
        other.join();
        ExpectEvents.renamed("by others", "by main");
        System.out.println("runs " + runs);
        Expect.print();
    }
}
