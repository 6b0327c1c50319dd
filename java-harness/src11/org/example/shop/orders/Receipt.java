package org.example.shop.orders;

/** The outcome of an order. */
public final class Receipt {
    /** The ways in which an order ends. */
    public enum Status {
        PAID("paid"),
        DECLINED("declined"),
        OUT_OF_STOCK("out of stock") {
            @Override
            public String label() {
                return "not there";
            }
        };

        private final String text;

        Status(String text) {
            this.text = text;
        }

        public String label() {
            return text;
        }
    }

    private final int order;
    private final String customer;
    private final Status status;
    private final long cents;

    Receipt(Order order, Status status, long cents) {
        this.order = order.id();
        this.customer = order.customer();
        this.status = status;
        this.cents = status == Status.PAID ? cents : 0;
    }

    public int order() {
        return order;
    }

    public String customer() {
        return customer;
    }

    public Status status() {
        return status;
    }

    public long cents() {
        return cents;
    }
}
