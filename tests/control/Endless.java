/** Calls a method for ever on a thread. When its input ends, the program says so and exits. */
public final class Endless {
    static volatile int number;

    static int next(int n) {
        return n + 1;
    }

    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(() -> {
            while (true) {
                number = next(number);
            }
        });
        thread.setDaemon(true);
        thread.start();
        System.out.println("[ready]");
        while (System.in.read() >= 0) {}
        System.out.println("[end]");
        System.exit(3);
    }
}
