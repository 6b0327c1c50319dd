/**
 * Methods in which a failing hook could do harm. Each gets a lock, which must be free after the
 * call.
 */
public class Faults {
    static int work;

    static void block(Object lock) {
        synchronized (lock) {
            work++;
            Object o = new Object();
        }
        work++;
    }

    static void empty(Object lock) {
        synchronized (lock) {
        }
    }

    static int returning(Object lock) {
        synchronized (lock) {
            return work;
        }
    }

    static void nested(Object lock) {
        for (int i = 0; i < 3; i++) {
            synchronized (lock) {
                synchronized (Faults.class) {
                    if (i == 1)
                        continue;
                    int[] array = new int[i];
                    work += array.length;
                }
                work++;
            }
        }
    }

    static void tryInBlock(Object lock) {
        synchronized (lock) {
            try {
                work++;
                check(lock);
            } catch (RuntimeException e) {
                work--;
            } finally {
                work += 2;
            }
        }
    }

    static void blockInTry(Object lock) {
        try {
            synchronized (lock) {
                work++;
            }
        } catch (IllegalStateException e) {
            work--;
        } finally {
            synchronized (lock) {
                work += new long[2][3].length;
            }
        }
    }

    static void blockInHandler(Object lock) {
        long a = 1, b = 2, c = 3;
        try {
            check(null);
        } catch (NullPointerException e) {
            synchronized (lock) {
                work++;
            }
        } finally {
            a += b + c;
            check(lock);
        }
    }

    /** Catches everything and tries again, at most five times. */
    static void again(Object lock) {
        for (int i = 0; i < 5; i++) {
            try {
                synchronized (lock) {
                    check(lock);
                    work++;
                }
                return;
            } catch (Throwable t) {
                work--;
            }
        }
    }

    /** Ends at once unless a hook fails. */
    static void untilItWorks(Object lock) {
        for (;;) {
            try {
                work++;
                break;
            } catch (Throwable t) {
                work--;
            }
        }
    }

    private static void check(Object object) {
        if (object == null)
            throw new NullPointerException();
    }
}
