import java.util.concurrent.CountDownLatch;

/**
 * Daemon threads that create garbage and have it collected, and do not stop when the program ends.
 */
public class Litter {
    static volatile Object last;
    /** Reaches 0 when six collections have happened for certain. */
    static final CountDownLatch COLLECTIONS = new CountDownLatch(6);

    public static void main(String[] args) throws Exception {
        for (int t = 0; t < 3; t++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    Object[] all = new Object[20_000];
                    for (int i = 0; i < all.length; i++) {
                        all[i] = new int[2];
                    }
                    last = all;
                    System.gc();
                    COLLECTIONS.countDown();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        COLLECTIONS.await();
        Thread.sleep(100);
        switch (args[0]) {
            case "exit":
                System.exit(0);
            case "halt":
                Runtime.getRuntime().halt(0);
        }
    }
}
