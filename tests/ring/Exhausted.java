import java.util.ArrayList;
import java.util.List;

/** Runs out of memory once, and says so. Then it goes on for some time. */
public final class Exhausted {
    static int sink;

    public static void main(String[] args) throws Exception {
        before(0);
        try {
            fill(new ArrayList<>());
        } catch (OutOfMemoryError e) {
            System.out.println("[full]");
        }
        for (int i = 0; i < 40; i++) {
            Thread.sleep(10);
            afterwards(i);
        }
    }

    static void before(int n) {
        sink += n;
    }

    static void fill(List<Object> all) {
        while (true) {
            all.add(one());
        }
    }

    static Object one() {
        return new byte[1 << 18];
    }

    static void afterwards(int n) {
        sink += n;
    }
}
