package org.example.shop.catalog;

import java.util.Objects;

/** A product for sale. */
public final class Product implements Comparable<Product> {
    private final int id;
    private final String name;
    private final int cents;
    private final Category category;

    Product(int id, String name, int cents, Category category) {
        this.id = id;
        this.name = Objects.requireNonNull(name);
        this.cents = cents;
        this.category = category;
    }

    public int id() {
        return id;
    }

    public String name() {
        return name;
    }

    public int cents() {
        return cents;
    }

    public Category category() {
        return category;
    }

    @Override
    public int compareTo(Product other) {
        return Integer.compare(id, other.id);
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Product && ((Product) o).id == id;
    }

    @Override
    public int hashCode() {
        return id;
    }

    @Override
    public String toString() {
        return id + ":" + name;
    }
}
