package org.example.shop;

import java.util.concurrent.ThreadFactory;

/** Creates the threads of the pool, and names them. */
final class Workers implements ThreadFactory {
    private final ThreadGroup group = new ThreadGroup("checkout");
    private int next;

    @Override
    public synchronized Thread newThread(Runnable body) {
        return new Thread(group, body, "checkout-" + ++next);
    }
}
