package org.example.shop.orders;

/** Thrown if a payment fails. */
final class PaymentException extends Exception {
    private static final long serialVersionUID = 1;

    private final boolean passing;

    PaymentException(String message, boolean passing) {
        super(message);
        this.passing = passing;
    }

    /** Returns true if another attempt may succeed. */
    boolean isTransient() {
        return passing;
    }
}
