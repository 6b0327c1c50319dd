import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that count until they are killed. For each number, a thread calls {@code number}, which
 * calls a method for each of the number's digits. So a trace shows which numbers it holds. Each
 * thread has a file that outlives the program. It stores there the last number whose call has
 * returned.
 */
public final class Numbered {
    static final int THREADS = 4;
    static int[] sinks = new int[THREADS * 32];

    public static void main(String[] args) throws Exception {
        Tally.start(Path.of(args[0]), "numbered-", THREADS, Numbered::run);
    }

    static void run(MappedByteBuffer tally, int thread) {
        for (long n = 1; ; n++) {
            if (n % 200 == 0) {
                // The pause lets the other threads run. Otherwise a thread might get no turn for so
                // long that the ring buffer has lost all of its calls.
                LockSupport.parkNanos(1_000_000);
            }
            sinks[thread * 32] += number(n);
            Tally.LONGS.setRelease(tally, 64 * thread, n);
            if (n == 1000) {
                Tally.isReady();
            }
        }
    }

    static int number(long n) {
        long place = 1;
        while (n / place >= 10) {
            place *= 10;
        }
        int sum = 0;
        for (; place > 0; place /= 10) {
            sum += which((int) (n / place % 10));
        }
        return sum;
    }

    static int which(int digit) {
        switch (digit) {
            case 0:
                return d0();
            case 1:
                return d1();
            case 2:
                return d2();
            case 3:
                return d3();
            case 4:
                return d4();
            case 5:
                return d5();
            case 6:
                return d6();
            case 7:
                return d7();
            case 8:
                return d8();
            default:
                return d9();
        }
    }

    static int d0() {
        return 0;
    }

    static int d1() {
        return 1;
    }

    static int d2() {
        return 2;
    }

    static int d3() {
        return 3;
    }

    static int d4() {
        return 4;
    }

    static int d5() {
        return 5;
    }

    static int d6() {
        return 6;
    }

    static int d7() {
        return 7;
    }

    static int d8() {
        return 8;
    }

    static int d9() {
        return 9;
    }
}
