package org.example.shop.orders;

import org.example.shop.catalog.Catalog;
import org.example.shop.catalog.Category;
import org.example.shop.pricing.PriceList;

/** Takes an order through stock, price and payment. */
public final class Checkout {
    private static final int ATTEMPTS = 3;

    private final Inventory inventory;
    private final PriceList prices;
    private final Payment payment = new Payment();
    private final Category restricted;

    public Checkout(Catalog catalog, PriceList prices) {
        this.inventory = new Inventory(catalog);
        this.prices = prices;
        this.restricted = catalog.root().children().get(0);
    }

    public Receipt process(Order order) {
        try (Inventory.Reservation reservation = inventory.reserve(order)) {
            long cents = prices.price(order) + handling(order);
            pay(order, cents, 1);
            reservation.keep();
            return new Receipt(order, Receipt.Status.PAID, cents);
        } catch (OutOfStockException e) {
            return new Receipt(order, Receipt.Status.OUT_OF_STOCK, 0);
        } catch (PaymentException e) {
            return new Receipt(order, Receipt.Status.DECLINED, 0);
        }
    }

    /** Returns the extra cost of handling some goods, in cents. */
    private long handling(Order order) {
        return order.lines().stream().filter(line -> line.product().category().isIn(restricted)).count() * 25;
    }

    private void pay(Order order, long cents, int attempt) throws PaymentException {
        try {
            payment.charge(order, cents, attempt);
        } catch (PaymentException e) {
            if (!e.isTransient() || attempt == ATTEMPTS) {
                throw e;
            }
            pay(order, cents, attempt + 1);
        }
    }
}
