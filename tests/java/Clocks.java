import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs the sample application, and asks every few milliseconds what CPU time its threads have used. Prints the answers: thread, the
 * moments before and after the question in nanoseconds since 1970, nanoseconds used.
 */
public final class Clocks {
    public static void main(String[] args) throws Exception {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        Thread shop = new Thread(() -> {
            try {
                org.example.shop.Main.main(new String[] {"20"});
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }, "shop");
        shop.start();
        List<String> answers = new ArrayList<>();
        while (shop.isAlive()) {
            for (ThreadInfo info : bean.getThreadInfo(bean.getAllThreadIds())) {
                if (info == null || !info.getThreadName().matches("shop|checkout-\\d+")) {
                    continue;
                }
                long from = now();
                long used = bean.getThreadCpuTime(info.getThreadId());
                long to = now();
                if (used >= 0) {
                    answers.add("cpu\t" + info.getThreadName() + "\t" + from + "\t" + to + "\t" + used);
                }
            }
            Thread.sleep(5);
        }
        answers.forEach(System.out::println);
    }

    private static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }
}
