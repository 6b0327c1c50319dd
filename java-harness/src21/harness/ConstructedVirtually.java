package harness;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Virtual threads that leave their carriers between {@code new} and the constructor. Some objects
 * are never constructed after that. Argument: number of threads, default 400.
 */
public final class ConstructedVirtually {
    static final List<Object> KEPT = new ArrayList<>();
    static final List<WeakReference<Object>> DEAD = new ArrayList<>();

    static final class Outer {
        final Object held;

        Outer(Object held) {
            this.held = held;
        }
    }

    static final class Inner {
        Inner(int round) {
            pause(round);
        }
    }

    static final class Never {
        Never(Object held) {}
    }

    static Object pause(int round) {
        try {
            Thread.sleep(1 + round % 3);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return null;
    }

    static Object failLater(int round) {
        pause(round);
        throw new IllegalStateException();
    }

    static void run(int thread) {
        for (int i = 0; i < 5; i++) {
            Object made = new Outer(new Outer(thread % 2 == 0 ? pause(i) : new Inner(i)));
            try {
                made = new Outer(made == null ? null : new Never(failLater(i)));
            } catch (IllegalStateException e) {
                synchronized (DEAD) {
                    if (i == 0) {
                        KEPT.add(made);
                    } else {
                        DEAD.add(new WeakReference<>(made));
                    }
                }
            }
        }
    }

    static long reachable() {
        return DEAD.stream().filter(r -> r.get() != null).count();
    }

    public static void main(String[] args) throws Exception {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 400;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            int number = i;
            threads.add(Thread.ofVirtual().start(() -> run(number)));
        }
        for (Thread t : threads) {
            t.join();
        }
        threads.clear();
        for (int i = 0; i < 100 && (i < 2 || reachable() > 0); i++) {
            System.gc();
            Thread.sleep(10);
        }
        System.gc();
        Expect.same(0L, reachable());
        System.out.println("dead " + DEAD.size() + " kept " + KEPT.size());
        expect(Outer.class, 15L * n, 2L * n);
        expect(Inner.class, 5L * (n / 2), n / 2);
        expect(Never.class, 5L * n, 0);
        Expect.print();
    }

    static void expect(Class<?> type, long objects, long live) {
        ExpectEvents.objects(type, objects);
        ExpectEvents.live(type, live);
    }
}
