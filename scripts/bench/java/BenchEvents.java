import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Does one thing over and over. Arguments: name of the thing; how often a batch does it; number of
 * batches; arguments of the thing itself. Prints for each batch the wall-clock time, the CPU time
 * of the threads that do the work, and the CPU time of the process, in ns.
 */
public class BenchEvents {
    interface Work { void run(int times) throws Exception; }

    static final int FRAMES = 16;
    static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    /** The threads that do the work. */
    static Thread[] workers = {Thread.currentThread()};
    static volatile Object sink;
    static volatile long number;

    /** Passes an object to the agent that measures the floor (agent/examples/tag_floor.rs). */
    static native void made(Object object);

    public static void main(String[] args) throws Exception {
        repeat(work(args), args);
    }

    static void repeat(Work work, String[] args) throws Exception {
        int times = Integer.parseInt(args[1]);
        int batches = Integer.parseInt(args[2]);
        below(FRAMES, () -> {
            for (int i = 0; i < batches; i++) measure(work, times);
        });
        System.out.flush();
        Runtime.getRuntime().exit(0); // some programs leave threads behind
    }

    static void measure(Work work, int times) throws Exception {
        long process = SYSTEM.getProcessCpuTime();
        long cpu = cpu();
        long wall = System.nanoTime();
        work.run(times);
        wall = System.nanoTime() - wall;
        System.out.println(wall + " " + (cpu() - cpu) + " " + (SYSTEM.getProcessCpuTime() - process));
    }

    static long cpu() {
        long sum = 0;
        for (Thread t : workers) sum += THREADS.getThreadCpuTime(t.getId());
        return sum;
    }

    interface Body { void run() throws Exception; }

    /** Runs the body on top of this many stack frames. */
    static void below(int frames, Body body) throws Exception {
        if (frames == 0) body.run(); else below(frames - 1, body);
    }

    static Thread daemon(Body body) {
        Thread t = new Thread(() -> {
            try { below(FRAMES, body); } catch (Exception e) { throw new AssertionError(e); }
        });
        t.setDaemon(true);
        t.start();
        return t;
    }

    static Work work(String[] args) throws Exception {
        switch (args[0]) {
            case "alloc": return BenchEvents::allocate;
            case "free": return times -> { allocate(times); System.gc(); };
            case "alloc-floor": return BenchEvents::allocateAndTag;
            case "free-floor": return times -> { allocateAndTag(times); System.gc(); };
            case "contend": return new Contention();
            case "wait": return new Waiting();
            case "park": return BenchEvents::park;
            case "throw": return BenchEvents::throwAndCatch;
            case "return": return times -> descend(times, false);
            case "unwind": return times -> descend(times, true);
            case "lines": return BenchLines::run;
            case "fib": return n -> number = fib(n);
            case "busy": return busyBeside(Integer.parseInt(args[3]));
            case "heap":
                fill(Integer.parseInt(args[1]));
                return heap(args[3]);
            default: throw new IllegalArgumentException(args[0]);
        }
    }

    /** An object of 24 bytes. */
    static final class Small {
        final int value;
        final Object next;
        Small(int value, Object next) { this.value = value; this.next = next; }
    }
    static Object last;

    static void allocate(int times) {
        for (int i = 0; i < times; i++) last = new Small(i, null);
    }

    static void allocateAndTag(int times) {
        for (int i = 0; i < times; i++) {
            Small made = new Small(i, null);
            made(made);
            last = made;
        }
    }

    static void park(int times) {
        Thread self = Thread.currentThread();
        for (int i = 0; i < times; i++) {
            LockSupport.unpark(self);
            LockSupport.park();
        }
    }

    static final class Thrown extends RuntimeException {
        Thrown() { super(null, null, false, false); } // takes no stack trace
    }
    static void raise(int value) {
        if (value >= 0) throw new Thrown();
        sink = null;
    }
    static void throwAndCatch(int times) {
        int caught = 0;
        for (int i = 0; i < times; i++) {
            try { raise(i); } catch (Thrown e) { caught++; }
        }
        if (caught != times) throw new AssertionError();
    }

    static final Thrown ONE = new Thrown();

    /** Recurses to this depth. All frames then return, or an exception leaves them. */
    static int down(int frames, boolean throwing) {
        if (frames > 1) return down(frames - 1, throwing) + 1;
        if (throwing) throw ONE;
        return 1;
    }
    static void descend(int times, boolean throwing) {
        long left = 0;
        for (int i = 0; i < times; i++) {
            try { left += down(FRAMES, throwing); } catch (Thrown e) { left += FRAMES; }
        }
        if (left != (long) times * FRAMES) throw new AssertionError();
    }

    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    /** One thread enters a monitor that another one holds until the first is blocked and asleep. */
    static final class Contention implements Work {
        final Object lock = new Object();
        volatile int round;
        volatile int done;

        Contention() {
            workers = new Thread[] {daemon(() -> {
                for (;;) {
                    while (round == done) Thread.yield();
                    synchronized (lock) { done = round; }
                }
            })};
        }
        public void run(int times) {
            for (int i = 0; i < times; i++) {
                synchronized (lock) {
                    round++;
                    while (workers[0].getState() != Thread.State.BLOCKED) Thread.yield();
                    LockSupport.parkNanos(20_000);
                }
                while (done != round) Thread.yield();
            }
        }
    }

    /** Two threads take turns. They leave the monitor by waiting only, so neither contends. */
    static final class Waiting implements Work {
        final Object lock = new Object();
        boolean mine = true;

        Waiting() {
            workers = new Thread[] {Thread.currentThread(), daemon(() -> {
                synchronized (lock) {
                    for (;;) {
                        while (mine) lock.wait();
                        mine = true;
                        lock.notify();
                    }
                }
            })};
        }
        public void run(int times) throws InterruptedException {
            synchronized (lock) {
                for (int i = 0; i < times / 2; i++) {
                    mine = false;
                    lock.notify();
                    while (!mine) lock.wait();
                }
            }
        }
    }

    /** One thread works while the others wait. */
    static Work busyBeside(int threads) {
        for (int i = 1; i < threads; i++) daemon(() -> { for (;;) Thread.sleep(1_000_000); });
        return times -> {
            long x = 1;
            for (int i = 0; i < times; i++) x = x * 6364136223846793005L + i;
            number = x;
        };
    }

    /** Dumps the heap, by the JVM's own command or by that of the agent. */
    static Work heap(String how) throws Exception {
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
        com.sun.management.HotSpotDiagnosticMXBean hotSpot =
                ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class);
        return objects -> {
            if (how.equals("data_dump")) {
                beans.invoke(commands, "jvmtiDataDump", new Object[0], new String[0]);
            } else {
                new File(how).delete();
                hotSpot.dumpHeap(how, true);
            }
        };
    }
    static void fill(int objects) {
        Object[] all = new Object[objects];
        for (int i = 0; i < objects; i++) all[i] = new Small(i, all[i / 2]);
        last = all;
    }
}
