package harness;

import java.io.File;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import jtrail.Trace;
import jtrail.Trace.Result;

/**
 * Begins and ends its own traces, in the folder that is its argument. Prints the result of each
 * call, and what each trace holds: a line {@code TRACE file key count} for each method. Works
 * without the agent, too, but then there are no traces.
 */
public final class OwnTrace {
    private static Path folder;

    private OwnTrace() {}

    static int work(int n) {
        return n == 0 ? leaf() : work(n - 1) + 1;
    }

    private static int leaf() {
        return 1;
    }

    /** A class whose static initialiser begins and ends a trace. */
    static final class Early {
        static final int DONE = run();

        private static int run() {
            say("early start", Trace.start(file("early"), "xml"));
            work(3);
            say("early stop", Trace.stop());
            return 1;
        }
    }

    private static String file(String name) {
        return folder.resolve(name).toString();
    }

    private static void say(String what, Result result) {
        System.out.println(what + ": " + result);
    }

    private static void holds(String file, int calls) {
        System.out.println("TRACE " + file + " work(I)I " + calls);
    }

    /**
     * Begins or ends a trace on several threads at once. One of them succeeds, and the others are
     * told that they can't. Returns how many have succeeded.
     */
    private static int many(boolean virtual, boolean starts) throws Exception {
        int[] done = new int[1];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int number = i;
            Runnable body = () -> {
                Result result = starts ? Trace.start(file("many-" + virtual), "binary") : Trace.stop();
                if (result.isDone()) {
                    synchronized (done) {
                        done[0]++;
                    }
                }
                Trace.isActive();
                Trace.mark("thread " + number);
            };
            threads.add(start(body, virtual));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return done[0];
    }

    private static Thread start(Runnable body, boolean virtual) throws ReflectiveOperationException {
        if (virtual) {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            return (Thread) start.invoke(null, body);
        }
        Thread thread = new Thread(body);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        folder = Path.of(args[0]);
        work(100); // in no trace
        say("stop of nothing", Trace.stop());
        say("mark of nothing", Trace.mark("nowhere"));
        System.out.println("active: " + Trace.isActive());
        Expect.same(1, Early.DONE);
        holds("early", 4);
        work(100);
        say("start", Trace.start(file("first"), "binary"));
        System.out.println("active: " + Trace.isActive());
        work(1);
        say("again", Trace.start());
        say("mark", Trace.mark("first <&> \"mark\" \u00e4\ud83d\ude00"));
        work(2);
        say("own note", Trace.mark("jtrail totals enters=7"));
        say("pause", Trace.pause());
        System.out.println("active: " + Trace.isActive());
        work(100);
        say("resume", Trace.resume());
        work(4);
        say("stop", Trace.stop());
        work(100);
        holds("first", 10);
        say("no such format", Trace.start(file("none"), "pdf"));
        say("no such folder", Trace.start(file("no/such/folder"), "binary"));
        say("no burst", Trace.burst(Duration.ZERO));
        say("no events", Trace.burst(-1));
        say("long burst", Trace.burst(Duration.ofSeconds(Long.MAX_VALUE)));
        work(5);
        say("cut short", Trace.stop());
        System.out.println("default file: " + new File("trace.trcbin").exists());
        boolean virtual = Expect.feature() >= 21;
        for (boolean isVirtual : virtual ? new boolean[] {false, true} : new boolean[] {false}) {
            int begun = many(isVirtual, true);
            work(6);
            int ended = many(isVirtual, false);
            System.out.println("many: " + begun + " " + ended);
            holds("many-" + isVirtual, 7);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            say("hook start", Trace.start(file("hook"), "jinsight"));
            work(7);
            say("hook stop", Trace.stop());
            say("hook start", Trace.start(file("last"), "binary"));
            work(8); // the end of the program ends this trace
            say("hook mark", Trace.mark("at the end"));
        }));
        holds("hook", 8);
        holds("last", 9);
    }
}
