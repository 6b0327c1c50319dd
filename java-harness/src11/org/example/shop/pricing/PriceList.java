package org.example.shop.pricing;

import java.util.List;
import org.example.shop.orders.Line;
import org.example.shop.orders.Order;

/** Computes the price of an order. */
public final class PriceList {
    private final Rule rules;

    private PriceList(List<Rule> rules) {
        this.rules = rules.stream().reduce(Rule.none(), Rule::then);
    }

    public static PriceList standard() {
        return new PriceList(List.of(
                Rule.percentOff(5, 50_000),
                new LoyaltyRule(),
                (order, cents) -> order.lines().size() > 6 ? cents - 500 : cents));
    }

    public long price(Order order) {
        long cents = order.lines().stream().mapToLong(PriceList::price).sum();
        return Math.max(0, rules.apply(order, cents)) + Shipping.cents(order.weight());
    }

    private static long price(Line line) {
        return (long) line.product().cents() * line.quantity();
    }
}
