package org.example.shop.orders;

import java.util.List;

/** An order of a customer. */
public final class Order {
    private final int id;
    private final String customer;
    private final List<Line> lines;

    Order(int id, String customer, List<Line> lines) {
        this.id = id;
        this.customer = customer;
        this.lines = lines;
    }

    public int id() {
        return id;
    }

    public String customer() {
        return customer;
    }

    public List<Line> lines() {
        return lines;
    }

    /** Returns the weight in kilograms. */
    public int weight() {
        int weight = 0;
        for (Line line : lines) {
            weight += line.quantity() * (1 + line.product().id() % 4);
        }
        return weight;
    }
}
