package harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.ArrayList;
import java.util.List;

/**
 * A program for agents that attach and detach, again and again. Its threads work all the time:
 * calls, objects, a monitor, exceptions. Each thread is in one long call, so an agent finds it in
 * the middle of a method when it attaches and when it detaches.
 *
 * <p>The program prints [ready]. Then it obeys the lines of its input, and answers each of them.
 * {@code thread} starts one more thread, every second one virtual if the JVM has virtual threads.
 * {@code again} has the JVM retransform classes ({@link Again}). {@code classes} loads classes and
 * drops them ({@link Guests}). {@code figures} collects garbage and prints what the JVM uses now,
 * in bytes. At the end, the results of all threads are compared with the expected ones.
 */
public final class Cycles {
    private static final int THREADS = 2;
    private static final int STEPS = 50;
    private static final Object LOCK = new Object();
    private static volatile boolean over;

    private Cycles() {}

    /** Works until the end of the program. */
    private static final class Worker implements Runnable {
        long rounds;
        long sum;
        volatile boolean begun;

        @Override
        public void run() {
            begun = true;
            try {
                while (!over) {
                    long before = sum;
                    for (int i = 0; i < STEPS; i++) {
                        sum += step(i);
                    }
                    rounds++;
                    if (sum - before != round()) {
                        throw new AssertionError(sum - before);
                    }
                    Thread.sleep(1);
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static long round() {
        return (long) STEPS * (STEPS - 1) / 2 * 3;
    }

    static long step(int i) {
        int[] some = {i, i};
        List<Integer> list = new ArrayList<>();
        list.add(some[0]);
        synchronized (LOCK) {
            list.add(some[1]);
        }
        try {
            return deeper(i, list);
        } catch (IllegalStateException e) {
            return (long) list.get(0) + list.get(1) + i;
        }
    }

    private static long deeper(int i, List<Integer> list) {
        if (i % 10 == 0) {
            throw new IllegalStateException("on purpose");
        }
        long all = i;
        for (Integer one : list) {
            all += one;
        }
        return all;
    }

    private static Thread start(Worker worker, boolean virtual) throws ReflectiveOperationException {
        if (virtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, worker);
        }
        Thread thread = new Thread(worker);
        thread.start();
        return thread;
    }

    private static String figures() {
        System.gc();
        long metaspace = 0;
        long code = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            String name = pool.getName();
            if (name.equals("Metaspace")) {
                metaspace += pool.getUsage().getUsed();
            } else if (name.startsWith("Code")) {
                code += pool.getUsage().getUsed();
            }
        }
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        return "metaspace=" + metaspace + " code=" + code + " heap=" + heap
                + " threads=" + ManagementFactory.getThreadMXBean().getThreadCount()
                + " classes=" + ManagementFactory.getClassLoadingMXBean().getLoadedClassCount();
    }

    public static void main(String[] args) throws Exception {
        boolean virtual = Expect.feature() >= 21;
        List<Worker> workers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            workers.add(new Worker());
            threads.add(start(workers.get(i), false));
        }
        figures();
        System.out.println("[ready]");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        String line;
        int asked = 0;
        while ((line = lines.readLine()) != null) {
            if (line.equals("thread")) {
                Worker worker = new Worker();
                workers.add(worker);
                threads.add(start(worker, virtual && workers.size() % 2 == 0));
                while (!worker.begun) {
                    Thread.sleep(1); // or an agent might detach before the thread has begun
                }
                System.out.println("[thread " + workers.size() + "]");
            } else if (line.equals("again")) {
                System.out.println("[again " + Again.make() + "]");
            } else if (line.equals("classes")) {
                System.out.println(Guests.load());
            } else if (line.equals("figures")) {
                System.out.println("[figures " + ++asked + "] " + figures());
            }
        }
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        for (Worker worker : workers) {
            Expect.same(worker.rounds * round(), worker.sum);
        }
        System.out.println("[sound]");
    }
}
