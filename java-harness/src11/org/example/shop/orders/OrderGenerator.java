package org.example.shop.orders;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.example.shop.catalog.Catalog;
import org.example.shop.util.Dice;

/** Generates orders. */
public final class OrderGenerator {
    private static final String[] CUSTOMERS = {"ada", "alan", "barbara", "donald", "edsger", "grace", "niklaus"};

    private final Catalog catalog;
    private final Dice dice;

    public OrderGenerator(Catalog catalog, long seed) {
        this.catalog = catalog;
        this.dice = new Dice(seed);
    }

    public List<Order> generate(int count) {
        return IntStream.range(0, count).mapToObj(this::order).collect(Collectors.toList());
    }

    private Order order(int id) {
        List<Line> lines = new ArrayList<>();
        for (int i = 0, n = 1 + dice.next(9); i < n; i++) {
            lines.add(new Line(catalog.product(dice.next(catalog.size())), 1 + dice.next(3)));
        }
        return new Order(id, dice.pick(CUSTOMERS), lines);
    }
}
