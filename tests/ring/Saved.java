/**
 * Works, and then does what the argument chooses: a call of {@code alarm}, a slow call, or an
 * exception. Works on, and does the same once more.
 */
public final class Saved {
    static final class Oops extends RuntimeException {}

    static int sum;

    static int work(int n) {
        return n * 31 + 7;
    }

    static void before() {
        worksFor(200);
    }

    static void afterwards() {
        worksFor(300);
    }

    static void worksFor(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 100; i++) {
                sum += work(i);
            }
        }
    }

    static void alarm() {
        sum++;
    }

    static void slow(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    static void fails() {
        throw new Oops();
    }

    static void happens(String what) throws InterruptedException {
        switch (what) {
            case "call":
                alarm();
                break;
            case "slow":
                slow(1);
                slow(400);
                break;
            case "exception":
                try {
                    fails();
                } catch (Oops e) {
                    sum++;
                }
                break;
            default:
        }
    }

    public static void main(String[] args) throws InterruptedException {
        before();
        happens(args[0]);
        afterwards();
        happens(args[0]);
        System.out.println("done");
    }
}
