package org.example.shop.orders;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.example.shop.util.Clock;

/** Writes to customers: each message in a thread of its own, virtual where the JVM has them. */
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

    /** The last message is to ourselves. */
    private synchronized void ring() {
        rung = true;
        notifyAll();
    }

    /** Waits until all is delivered, and says how many that were. */
    public int drain() throws InterruptedException {
        synchronized (this) {
            pool.execute(this::ring); // not before we wait
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
