import java.util.concurrent.Callable;

/** A program for observers of several kinds, whose calls and exceptions are known. */
public class Observed {
    static final int ROUNDS = 100;

    static void direct(int i) {
        throw new IllegalStateException("direct");
    }

    static void through(int i) {
        direct(i);
    }

    static int inside(int i) {
        try {
            throw new IllegalArgumentException("inside");
        } catch (IllegalArgumentException e) {
            return i;
        }
    }

    static int ends(int i) {
        if (i < 0) {
            return -i;
        }
        return i;
    }

    static int sum(int i) {
        int sum = 0;
        for (int j = 0; j <= i; j++) {
            sum += ends(j);
        }
        return sum;
    }

    static synchronized int locked(int i) {
        return i + 1;
    }

    static int nested(Callable<Integer> call) throws Exception {
        try {
            return call.call();
        } finally {
            locked(0);
        }
    }

    static int round(int i) throws Exception {
        int result = sum(i % 3) + inside(i) + locked(i) + nested(() -> ends(i));
        try {
            through(i);
        } catch (IllegalStateException e) {
            result += e.getStackTrace()[1].getLineNumber();
        }
        return result;
    }

    public static void main(String[] args) throws Exception {
        int result = 0;
        for (int i = 0; i < ROUNDS; i++) {
            result += round(i);
        }
        System.out.println("result " + result);
    }
}
