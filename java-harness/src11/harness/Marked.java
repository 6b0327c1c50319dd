package harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import jtrail.Trace;

/**
 * A program that writes marks into its own traces while agents attach and detach. It prints
 * [ready]. Then it obeys the lines of its input, and answers each of them. {@code start} and {@code
 * stop} begin and end a trace. Any other line is written as a mark, after some work; the answer
 * says whether the trace was active. Meanwhile another thread calls isActive() and mark() all the
 * time. None of these calls may ever throw.
 */
public final class Marked {
    private static volatile boolean over;
    private static volatile Throwable thrown;

    private Marked() {}

    private static void talk() {
        try {
            for (long turn = 0; !over; turn++) {
                Trace.isActive();
                if (turn % 1024 == 0) {
                    Trace.mark("");
                    Thread.sleep(1);
                }
            }
        } catch (Throwable e) {
            thrown = e;
        }
    }

    static void work() {}

    private static String obey(String line) {
        switch (line) {
            case "start":
                return Trace.start().toString();
            case "stop":
                return Trace.stop().toString();
            default:
                work();
                return Trace.isActive() + ", " + Trace.mark(line);
        }
    }

    public static void main(String[] args) throws Exception {
        Trace.isActive(); // loads and binds the class before two threads use it
        Thread talker = new Thread(Marked::talk);
        talker.start();
        System.out.println("[ready]");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println("[" + line + ": " + obey(line) + "]");
        }
        over = true;
        talker.join();
        System.out.println(thrown == null ? "[sound]" : "[" + thrown + "]");
    }
}
