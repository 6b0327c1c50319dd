package org.example.shop.pricing;

import org.example.shop.orders.Order;

/** Changes the price of an order. */
@FunctionalInterface
public interface Rule {
    long apply(Order order, long cents);

    /** Returns a rule that applies this rule first, and then the other one. */
    default Rule then(Rule next) {
        return (order, cents) -> next.apply(order, apply(order, cents));
    }

    static Rule none() {
        return (order, cents) -> cents;
    }

    static Rule percentOff(int percent, long from) {
        return (order, cents) -> cents < from ? cents : cents - cents * percent / 100;
    }
}
