package org.example.shop.orders;

/** A payment failed. */
final class PaymentException extends Exception {
    private static final long serialVersionUID = 1;

    private final boolean passing;

    PaymentException(String message, boolean passing) {
        super(message);
        this.passing = passing;
    }

    /** Another attempt may succeed. */
    boolean isTransient() {
        return passing;
    }
}
