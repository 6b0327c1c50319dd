package org.example.shop.util;

import java.util.concurrent.atomic.AtomicLong;

/** Simulates waiting for a disk or another machine. */
public final class Clock {
    private static final AtomicLong WAITS = new AtomicLong();

    private Clock() {}

    public static void pause(long micros) {
        WAITS.incrementAndGet();
        try {
            Thread.sleep(micros / 1000, (int) (micros % 1000) * 1000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public static long waits() {
        return WAITS.get();
    }
}
