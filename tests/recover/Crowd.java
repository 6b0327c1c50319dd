/**
 * Four threads that make calls until they are killed, with a pause now and then. Prints [ready]
 * when all of them make calls.
 */
public final class Crowd {
    static volatile int ready;
    static volatile int sink;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 4; i++) {
            new Thread(Crowd::call, "caller-" + i).start();
        }
        while (ready < 4) {
            Thread.sleep(1);
        }
        System.out.println("[ready]");
    }

    static synchronized void isReady() {
        ready++;
    }

    static void call() {
        isReady();
        try {
            for (int i = 0; ; i++) {
                sink = deeper(i % 30);
                if (i % 20 == 0) {
                    Thread.sleep(1);
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static int deeper(int left) {
        return left == 0 ? sink : deeper(left - 1) + 1;
    }
}
