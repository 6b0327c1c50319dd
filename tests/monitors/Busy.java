import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import jdk.jfr.Recording;

/**
 * Threads that block, wait, park, throw and allocate while the JVM records all these events.
 * Argument: file of the recording. The threads {@code busy-…} and those of the sample application's
 * pool begin and end during the recording.
 */
public final class Busy {
    static final class Gate {}

    static final class Bell {}

    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;
    }

    static final class Passenger {
        final long[] luggage;

        Passenger(int size) {
            luggage = new long[size];
        }
    }

    static final Gate GATE = new Gate();
    static final Bell BELL = new Bell();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile Object sink;
    static long sum;

    public static void main(String[] args) throws Exception {
        try (Recording recording = new Recording()) {
            for (String event : List.of("JavaMonitorEnter", "JavaMonitorWait", "ThreadPark")) {
                recording.enable("jdk." + event).withThreshold(Duration.ZERO).withoutStackTrace();
            }
            for (String event : List.of("JavaExceptionThrow", "ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB")) {
                recording.enable("jdk." + event).withoutThreshold().withoutStackTrace();
            }
            recording.enable("jdk.ObjectAllocationSample").with("throttle", "off").withoutStackTrace();
            recording.setDestination(Path.of(args[0]));
            recording.start();
            work();
            org.example.shop.Main.main(new String[] {"3"});
            recording.stop();
        }
    }

    private static void work() throws Exception {
        List<Thread> threads = new ArrayList<>();
        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);
        for (int i = 0; i < 4; i++) {
            int own = i;
            threads.add(new Thread(() -> busy(own, queue), "busy-" + i));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        if (sum != 4 * 60) {
            throw new AssertionError(sum);
        }
    }

    private static void busy(int own, ArrayBlockingQueue<Integer> queue) {
        try {
            for (int i = 0; i < 60; i++) {
                synchronized (GATE) {
                    sum++;
                    Thread.sleep(1); // the other threads block
                }
                synchronized (BELL) {
                    if (i % 3 == own % 3) {
                        BELL.notifyAll();
                    }
                    BELL.wait(2);
                }
                if (own % 2 == 0) {
                    queue.put(i); // parks while the other half is slow
                } else {
                    queue.take();
                }
                LockSupport.parkNanos(queue, 100_000);
                LOCK.lock();
                try {
                    LockSupport.parkNanos(50_000);
                } finally {
                    LOCK.unlock();
                }
                for (int k = 0; k < 500; k++) {
                    sink = new Passenger(k % 50);
                    sink = new StringBuilder("text ").append(k).toString();
                    int count = k;
                    sink = (IntSupplier) () -> count;
                }
                refuse(i % 4);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void refuse(int times) {
        for (int i = 0; i < times; i++) {
            try {
                if (i == 2) {
                    sink = new int[0][i]; // throws nothing
                    sink = new int[] {1}[i + own(sink)];
                }
                throw new Refused();
            } catch (Refused | ArrayIndexOutOfBoundsException e) {
                sink = e;
            }
        }
    }

    private static int own(Object any) {
        return any == null ? 0 : 1;
    }
}
