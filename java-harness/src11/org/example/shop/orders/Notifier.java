package org.example.shop.orders;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.example.shop.util.Clock;

/** Sends messages to customers, each on its own thread, virtual if the JVM has virtual threads. */
public final class Notifier implements AutoCloseable {
    private final ExecutorService pool = threads();
    private final AtomicInteger sent = new AtomicInteger();
    private boolean rung;

    private static ExecutorService threads() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (NoSuchMethodException e) {
            return Executors.newFixedThreadPool(8);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new AssertionError(e);
        }
    }

    public void send(Receipt receipt) {
        pool.execute(() -> deliver(receipt, text(receipt)));
    }

    private static String text(Receipt receipt) {
        return "Dear " + receipt.customer() + ", your order " + receipt.order() + " is "
                + receipt.status().label() + ".";
    }

    private void deliver(Receipt receipt, String text) {
        if (receipt.order() % 20 == 0) {
            Clock.pause(500);
        }
        if (!text.isEmpty()) {
            sent.incrementAndGet();
        }
    }

    /** Wakes {@link #drain}. This task is submitted last. */
    private synchronized void ring() {
        rung = true;
        notifyAll();
    }

    /** Waits until all messages are delivered, and returns their number. */
    public int drain() throws InterruptedException {
        synchronized (this) {
            pool.execute(this::ring); // runs only when wait() has released the monitor
            while (!rung) {
                wait();
            }
        }
        pool.shutdown();
        if (!pool.awaitTermination(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("messages are stuck");
        }
        return sent.get();
    }

    @Override
    public void close() {
        pool.shutdown();
    }
}
