package org.example.shop.orders;

import org.example.shop.catalog.Product;

/** A product of an order, and its quantity. */
public final class Line {
    private final Product product;
    private final int quantity;

    Line(Product product, int quantity) {
        this.product = product;
        this.quantity = quantity;
    }

    public Product product() {
        return product;
    }

    public int quantity() {
        return quantity;
    }
}
