package org.example.shop.orders;

/** A product is not there. */
final class OutOfStockException extends Exception {
    private static final long serialVersionUID = 1;

    OutOfStockException(String product) {
        super(product);
    }
}
