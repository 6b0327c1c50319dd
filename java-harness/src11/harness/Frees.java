package harness;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Objects that die and objects that live, with a collection after each round. Weak references refer
 * to everything that must be dead at the end. The program collects until the last of them is
 * cleared. Argument: rounds, default 4.
 */
public final class Frees {
    static class Brief {
        long payload;
    }

    static final class Kept {
        Object next;
    }

    /** Every seventh object of this class is kept. */
    static final class Mixed {
        final byte[] payload = new byte[100];
    }

    static final class Node {
        final Node next;

        Node(Node next) {
            this.next = next;
        }
    }

    static final class Weak {}

    /** Two objects of this class refer to each other. */
    static final class Ring {
        Ring other;
    }

    static final class Pooled {}

    static final class Local {}

    /** Several threads create objects of this class. */
    static final class Shared {}

    static final List<Object> KEPT = new ArrayList<>();
    static final List<WeakReference<Object>> DEAD = new ArrayList<>();
    static Node list;

    static <T> T dies(T object) {
        synchronized (DEAD) {
            DEAD.add(new WeakReference<>(object));
        }
        return object;
    }

    static <T> T lives(T object) {
        synchronized (KEPT) {
            KEPT.add(object);
        }
        return object;
    }

    static void round(int n) {
        for (int i = 0; i < n; i++) {
            dies(new Brief());
            Mixed mixed = new Mixed();
            if (i % 7 == 0) {
                lives(mixed);
            } else {
                dies(mixed);
            }
        }
        for (int i = 0; i < 10; i++) {
            Kept kept = lives(new Kept());
            kept.next = dies(new Brief[3]);
            kept.next = null;
        }
        Ring one = dies(new Ring());
        one.other = dies(new Ring());
        one.other.other = one;
        dies(new Weak());
    }

    /** Builds a list, of which only the last tenth is reachable afterwards. */
    static void chain(int n) {
        Node head = null;
        for (int i = 0; i < n; i++) {
            head = new Node(head);
            if (i + 1 == n / 10) {
                list = head;
            } else if (i + 1 > n / 10) {
                dies(head);
            }
        }
    }

    static void pooled(int n) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < n; i++) {
            boolean keep = i % 10 == 0;
            pool.execute(() -> {
                if (keep) {
                    lives(new Pooled());
                } else {
                    dies(new Pooled());
                }
            });
        }
        pool.shutdown();
        Expect.same(true, pool.awaitTermination(60, TimeUnit.SECONDS));
    }

    static final ThreadLocal<Object> LOCAL = new ThreadLocal<>();

    /** Sets a thread-local variable, whose value dies with its thread. */
    static void threadLocal() throws InterruptedException {
        Thread t = new Thread(() -> LOCAL.set(dies(new Local())));
        t.start();
        t.join();
    }

    static final int KEEPERS = 3;

    /** Runs some threads one after another. Each keeps more objects than the one before. */
    static void shared() throws InterruptedException {
        for (int i = 0; i < KEEPERS; i++) {
            int keep = 5 * (i + 1);
            Thread t = new Thread(() -> {
                for (int k = 0; k < 30; k++) {
                    if (k < keep) {
                        lives(new Shared());
                    } else {
                        dies(new Shared());
                    }
                }
            }, "keeper " + i);
            t.start();
            t.join();
        }
    }

    static long reachable() {
        synchronized (DEAD) {
            return DEAD.stream().filter(r -> r.get() != null).count();
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 4;
        int n = 700;
        for (int i = 0; i < rounds; i++) {
            round(n);
            System.gc();
        }
        chain(1000);
        pooled(1000);
        threadLocal();
        shared();
        System.gc();
        for (int i = 0; i < 50 && reachable() > 0; i++) {
            Thread.sleep(10);
            System.gc();
        }
        Expect.same(0L, reachable());
        System.out.println("dead " + DEAD.size() + " kept " + KEPT.size());

        expect(Brief.class, rounds * n, 0);
        expect(Mixed.class, rounds * n, rounds * n / 7);
        expect(Kept.class, rounds * 10, rounds * 10);
        expect(Brief[].class, rounds * 10, 0);
        expect(Ring.class, rounds * 2, 0);
        expect(Weak.class, rounds, 0);
        expect(Node.class, 1000, 100);
        expect(Pooled.class, 1000, 100);
        expect(Local.class, 1, 0);
        expect(Shared.class, 30 * KEEPERS, 5 + 10 + 15);
        for (int i = 0; i < KEEPERS; i++) {
            ExpectEvents.live(Shared.class, "keeper " + i, 5 * (i + 1));
        }
        ExpectEvents.live(Mixed.class, "main", rounds * n / 7);
        ExpectEvents.live(Kept.class, "main", rounds * 10);
        ExpectEvents.live(Node.class, "main", 100);
        Expect.fact("min-collections", rounds + 1);
        Expect.print();
    }

    static void expect(Class<?> type, long objects, long live) {
        ExpectEvents.objects(type, objects);
        ExpectEvents.live(type, live);
    }
}
