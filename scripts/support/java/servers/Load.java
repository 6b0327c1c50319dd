import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Puts load on a server in the same process, on command. A line of input is a number of
 * milliseconds, or {@code on}, which lasts until the next line. During that time all threads send
 * requests as fast as they can. Then the program prints how many answers were right and wrong, and
 * how many requests failed. The program ends with its input.
 */
final class Load {
    private Load() {}

    /** A request to the server. */
    interface Request {
        /** Sends the request. Returns true if the answer is right. */
        boolean isRight(int thread, long number) throws Exception;
    }

    static void run(int threads, Request request) throws Exception {
        System.out.println("[ready]");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        AtomicLong number = new AtomicLong();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            AtomicBoolean goesOn = new AtomicBoolean(true);
            AtomicLong right = new AtomicLong();
            AtomicLong wrong = new AtomicLong();
            AtomicLong failed = new AtomicLong();
            List<Thread> all = new ArrayList<>();
            long begin = System.nanoTime();
            for (int i = 0; i < threads; i++) {
                int thread = i;
                Thread asking = new Thread(() -> {
                    while (goesOn.get()) {
                        try {
                            boolean isRight = request.isRight(thread, number.getAndIncrement());
                            (isRight ? right : wrong).incrementAndGet();
                        } catch (Exception e) {
                            if (failed.getAndIncrement() == 0) {
                                e.printStackTrace();
                            }
                        }
                    }
                });
                asking.start();
                all.add(asking);
            }
            if (line.equals("on")) {
                lines.readLine();
            } else {
                Thread.sleep(Long.parseLong(line));
            }
            goesOn.set(false);
            for (Thread asking : all) {
                asking.join();
            }
            long micros = (System.nanoTime() - begin) / 1000;
            System.out.println("[done] right=" + right + " wrong=" + wrong + " failed=" + failed + " micros=" + micros);
        }
    }
}
