package harness;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.ArrayList;
import java.util.List;

/**
 * Contended monitors. The owner releases a monitor only when each of the other threads is seen to
 * block on this very object. So every expected enter is contended for certain, and no other one is.
 * Argument: rounds, default 3.
 */
public final class Monitors {
    static final class Lock {}

    static final class Hashed {}

    static final class Deep {}

    static final class Waited {}

    static final class Account {
        int balance;

        synchronized void add(int n) {
            balance += n;
        }

        synchronized void fail() {
            throw new IllegalStateException();
        }
    }

    static int passed;

    static synchronized void pass() {
        ExpectEvents.stack("monitor", 0); // a synchronized method begins at its first line
        passed++;
    }

    /**
     * Enters the lock twice on one line, because some JVMs report the line of the first instruction
     * after the enter. The inner enter is not contended.
     */
    static void enter(Object lock) {
        ExpectEvents.stack("monitor", 1);
        synchronized (lock) { synchronized (lock) { pass1(); } }
    }

    static int entered;

    static void pass1() {
        entered++;
    }

    static void deep(Object lock, int depth) {
        if (depth > 0) {
            deep(lock, depth - 1);
        } else {
            enter(lock);
        }
    }

    static void failing(Account account) {
        try {
            account.fail();
        } catch (IllegalStateException e) {
            account.add(1);
        }
    }

    /** Holds the lock on the current thread until {@code blocked} other threads block on it. */
    static void contend(Object lock, int blocked, Runnable enter) {
        List<Thread> threads = new ArrayList<>();
        synchronized (lock) {
            for (int i = 0; i < blocked; i++) {
                Thread t = new Thread(enter, "blocked-" + i);
                t.start();
                threads.add(t);
            }
            for (Thread t : threads) {
                awaitBlocked(t, lock);
            }
            // A blocked thread may still run an agent's callback, which may ask for the monitor's
            // owner. Until the callback has ended, the monitor must be held.
            ExpectEvents.awaitIdle();
        }
        join(threads);
    }

    /** Waits until the thread blocks on the object. Enters no monitor meanwhile. */
    static void awaitBlocked(Thread t, Object lock) {
        while (true) {
            ThreadInfo info = ManagementFactory.getThreadMXBean().getThreadInfo(t.getId());
            if (info != null && info.getThreadState() == Thread.State.BLOCKED && info.getLockInfo() != null
                    && info.getLockInfo().getIdentityHashCode() == System.identityHashCode(lock)) {
                return;
            }
            sleep(1);
        }
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void join(List<Thread> threads) {
        try {
            for (Thread t : threads) {
                t.join();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void round() {
        Lock lock = new Lock();
        contend(lock, 1, () -> enter(lock));
        contend(lock, 3, () -> enter(lock)); // the same object again
        Deep deep = new Deep();
        contend(deep, 1, () -> deep(deep, 40));
        Hashed hashed = new Hashed();
        System.identityHashCode(hashed);
        contend(hashed, 1, () -> enter(hashed));
        Waited waited = new Waited();
        synchronized (waited) {
            try {
                ExpectEvents.stack("wait", 1);
                waited.wait(1); // the monitor is inflated afterwards
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        contend(waited, 1, () -> enter(waited));
        Account account = new Account();
        contend(account, 2, () -> account.add(1));
        // Blocks in fail. The lock is free when the thread gets to add.
        contend(account, 1, () -> failing(account));
        contend(Monitors.class, 1, Monitors::pass);
        int[] array = new int[1];
        contend(array, 1, () -> enter(array));
        Account[] accounts = {account};
        contend(accounts, 1, () -> enter(accounts));
    }

    /** Enters a monitor a thousand times without contention. */
    static void quiet(Account account) {
        for (int i = 0; i < 1000; i++) {
            account.add(-1);
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 3;
        Account account = new Account();
        for (int i = 0; i < 3; i++) {
            Thread t = new Thread(() -> quiet(account));
            t.start();
            t.join();
        }
        for (int i = 0; i < rounds; i++) {
            Thread owner = new Thread(Monitors::round, "owner");
            owner.start();
            owner.join();
        }
        System.out.println("passed " + passed + " entered " + entered + " balance " + account.balance);
        String owner = "owner";
        ExpectEvents.contended(Lock.class, owner, 4 * rounds);
        ExpectEvents.contended(Deep.class, owner, rounds);
        ExpectEvents.contended(Hashed.class, owner, rounds);
        ExpectEvents.contended(Waited.class, owner, rounds);
        ExpectEvents.contended(Account.class, owner, 3 * rounds);
        ExpectEvents.contended(Class.class, owner, rounds);
        ExpectEvents.contended(int[].class, owner, rounds);
        ExpectEvents.contended(Account[].class, owner, rounds);
        ExpectEvents.waits(Waited.class, rounds, rounds);
        ExpectEvents.waitLimit(Waited.class, 1, rounds);
        Expect.print();
    }
}
