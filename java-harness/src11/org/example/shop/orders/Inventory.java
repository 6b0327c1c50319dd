package org.example.shop.orders;

import java.util.concurrent.locks.ReentrantLock;
import org.example.shop.catalog.Catalog;

/** The stock of all products. */
final class Inventory {
    private final Catalog catalog;
    private final int[] reserved;
    private final ReentrantLock lock = new ReentrantLock();

    Inventory(Catalog catalog) {
        this.catalog = catalog;
        this.reserved = new int[catalog.size()];
    }

    /** Reserves the products of an order until the reservation is closed. */
    final class Reservation implements AutoCloseable {
        private final Order order;
        private boolean kept;

        private Reservation(Order order) {
            this.order = order;
        }

        void keep() {
            kept = true;
        }

        @Override
        public void close() {
            if (!kept) {
                add(order, -1);
            }
        }
    }

    Reservation reserve(Order order) throws OutOfStockException {
        for (Line line : order.lines()) {
            if (!catalog.inStock(line.product())) {
                throw new OutOfStockException(line.product().toString());
            }
        }
        add(order, 1);
        return new Reservation(order);
    }

    private void add(Order order, int sign) {
        lock.lock();
        try {
            for (Line line : order.lines()) {
                reserved[line.product().id()] += sign * line.quantity();
            }
        } finally {
            lock.unlock();
        }
    }
}
