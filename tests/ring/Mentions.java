import java.util.concurrent.locks.LockSupport;

/**
 * Uses the same few objects in events all the time, and new objects in one event each. Calls in
 * between fill a ring buffer again and again. Argument: number of rounds; if it is negative, the
 * program never ends.
 */
public final class Mentions {
    static final class Lock {}

    static final class Blocker {}

    static final class Same extends RuntimeException {
        Same() {
            super(null, null, false, false);
        }
    }

    static final class Fresh extends RuntimeException {
        Fresh() {
            super(null, null, false, false);
        }
    }

    static final Lock LOCK = new Lock();
    static final Blocker BLOCKER = new Blocker();
    static final Same SAME = new Same();
    static int sink;

    public static void main(String[] args) throws Exception {
        long rounds = Long.parseLong(args[0]);
        for (long round = 0; round != rounds; round++) {
            for (int i = 0; i < 1000; i++) {
                sink = call(sink);
            }
            throwAndCatch(SAME);
            throwAndCatch(new Fresh());
            if (round % 5 == 0) {
                synchronized (LOCK) {
                    LOCK.wait(1);
                }
                LockSupport.parkNanos(BLOCKER, 10_000);
            }
            if (round == 2000) {
                System.out.println("[ready]");
            }
        }
        System.out.println("done");
    }

    static int call(int n) {
        return n + 1;
    }

    static void throwAndCatch(RuntimeException e) {
        try {
            throw e;
        } catch (RuntimeException caught) {
            sink++;
        }
    }
}
