public class Aside {
    static final class Loaded {
        static int twice(int n) {
            return 2 * n;
        }
    }

    public static void main(String[] args) throws Exception {
        Runnable body = () -> {
            for (int i = 0; i < 7; i++) {
                Loaded.twice(i);
                Thread.yield();
            }
            System.gc();
        };
        Thread[] threads = new Thread[20];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
