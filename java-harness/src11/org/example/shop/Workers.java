package org.example.shop;

import java.util.concurrent.ThreadFactory;

/** Names the threads of the pool. */
final class Workers implements ThreadFactory {
    private final ThreadGroup group = new ThreadGroup("checkout");
    private int next;

    @Override
    public synchronized Thread newThread(Runnable body) {
        return new Thread(group, body, "checkout-" + ++next);
    }
}
