package org.example.shop.orders;

/** Thrown if a product is out of stock. */
final class OutOfStockException extends Exception {
    private static final long serialVersionUID = 1;

    OutOfStockException(String product) {
        super(product);
    }
}
