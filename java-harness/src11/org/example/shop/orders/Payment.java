package org.example.shop.orders;

import java.util.zip.CRC32;
import org.example.shop.util.Clock;

/** The bank, which is slow now and then, and does not accept every payment. */
final class Payment {
    private long charged;

    void charge(Order order, long cents, int attempt) throws PaymentException {
        if (order.id() % 100 == 0) {
            Clock.pause(1500);
        }
        if (order.id() % 37 == 0) {
            throw new PaymentException("declined", false);
        }
        if (order.id() % 11 == 0 && attempt < 3) {
            throw new PaymentException("line busy", true);
        }
        if (sign(order, cents) == 0) {
            throw new AssertionError("no signature");
        }
        synchronized (this) {
            charged += cents;
        }
    }

    /** Keeps the processor busy, in many small calls. */
    private static long sign(Order order, long cents) {
        CRC32 crc = new CRC32();
        long key = order.id();
        for (int i = 0; i < 150; i++) {
            key = mix(key + cents);
            if ((key & 7) == 0) {
                crc.update((int) rotate(key, i & 31));
            }
        }
        return crc.getValue() | 1;
    }

    private static long mix(long n) {
        n ^= n >>> 31;
        return rotate(n * 0x9E3779B97F4A7C15L, 27);
    }

    private static long rotate(long n, int by) {
        return n << by | n >>> 64 - by;
    }
}
