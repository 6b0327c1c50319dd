import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Threads that do the same work in each run, and print figures about it.
 *
 * <p>{@code CALLS thread method n} is a number of calls. {@code TIME thread method figure low high}
 * gives bounds of a figure of a method's calls, in nanoseconds: {@code base}, {@code min} and
 * {@code max} are own times, {@code cpu} is own CPU time. The clock is read directly before and
 * after each call (outer), and as the first and last action of the call (inner). The time that a
 * tracer measures is between the inner and the outer one.
 */
public class Added {
    static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();

    /** Measurements of one method's calls on one thread. */
    static final class Known {
        long innerSum, outerSum, innerCpu, outerCpu;
        long innerMin = Long.MAX_VALUE, outerMin = Long.MAX_VALUE, innerMax, outerMax;

        void add(long inner, long outer) {
            innerSum += inner;
            outerSum += outer;
            innerMin = Math.min(innerMin, inner);
            outerMin = Math.min(outerMin, outer);
            innerMax = Math.max(innerMax, inner);
            outerMax = Math.max(outerMax, outer);
        }
    }

    /**
     * The work of one thread. The methods of this class are traced, those of the enclosing class
     * are not.
     */
    static final class Work implements Runnable {
        final int rounds;
        final Known burn = new Known(), branch = new Known();
        long innerTime, innerCpu;
        volatile long sink;

        Work(int rounds) {
            this.rounds = rounds;
        }

        long recursion(int depth) {
            return depth == 0 ? 1 : 1 + recursion(depth - 1) + (depth % 2 == 0 ? twig(depth) : 0);
        }

        long twig(int i) {
            return i & 1;
        }

        void failing(int i) {
            if (i % 3 == 0) {
                throw new IllegalStateException();
            }
            twig(i);
        }

        void burn(int thousands) {
            long cpu = CPU.getCurrentThreadCpuTime();
            long began = System.nanoTime();
            long x = thousands;
            for (int i = 0; i < thousands * 1000; i++) {
                x = x * 31 + i;
            }
            sink = x;
            innerTime = System.nanoTime() - began;
            innerCpu = CPU.getCurrentThreadCpuTime() - cpu;
        }

        void timedBurn(int thousands) {
            long cpu = CPU.getCurrentThreadCpuTime();
            long began = System.nanoTime();
            burn(thousands);
            long outer = System.nanoTime() - began;
            burn.outerCpu += CPU.getCurrentThreadCpuTime() - cpu;
            burn.innerCpu += innerCpu;
            burn.add(innerTime, outer);
        }

        void all() {
            for (int i = 0; i < rounds; i++) {
                recursion(i % 20);
                try {
                    failing(i);
                } catch (IllegalStateException e) {
                    twig(i);
                }
            }
            for (int i = 1; i <= 5; i++) {
                timedBurn(i * 4000);
            }
        }

        @Override
        public void run() {
            all();
        }
    }

    static void report(String thread, String method, Known known) {
        String head = "TIME " + thread + " " + method;
        System.out.println(head + " base " + known.innerSum + " " + known.outerSum);
        System.out.println(head + " min " + known.innerMin + " " + known.outerMin);
        System.out.println(head + " max " + known.innerMax + " " + known.outerMax);
        System.out.println(head + " cpu " + known.innerCpu + " " + known.outerCpu);
    }

    public static void main(String[] args) throws Exception {
        CPU.getCurrentThreadCpuTime();
        Thread[] threads = new Thread[3];
        Work[] works = new Work[threads.length];
        for (int t = 0; t < threads.length; t++) {
            works[t] = new Work(300 * (t + 1));
            threads[t] = new Thread(works[t], "added-" + t);
            threads[t].start();
        }
        for (int t = 0; t < threads.length; t++) {
            threads[t].join();
            String thread = "added-" + t;
            int rounds = works[t].rounds;
            long recursions = 0, twigs = 0;
            for (int i = 0; i < rounds; i++) {
                int depth = i % 20;
                recursions += depth + 1;
                twigs += depth / 2 + 1; // one per even depth from 2 on, one in or after failing
            }
            System.out.println("CALLS " + thread + " recursion " + recursions);
            System.out.println("CALLS " + thread + " twig " + twigs);
            System.out.println("CALLS " + thread + " failing " + rounds);
            System.out.println("CALLS " + thread + " burn 5");
            System.out.println("CALLS " + thread + " timedBurn 5");
            System.out.println("CALLS " + thread + " all 1");
            report(thread, "burn", works[t].burn);
        }
    }
}
