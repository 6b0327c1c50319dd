package org.example.shop.pricing;

/** Packs an order into the fewest parcels of 1, 3, 7 and 12 kg, by plain recursion. */
final class Shipping {
    private static final int[] KILOS = {12, 7, 3, 1};

    private Shipping() {}

    static long cents(int kilos) {
        return 150L * parcels(Math.min(kilos, 30), 0);
    }

    /** Returns the minimum number of parcels, of the sizes from index {@code from} on. */
    private static int parcels(int kilos, int from) {
        if (kilos <= 0) {
            return 0;
        }
        if (from == KILOS.length - 1) {
            return kilos;
        }
        int best = parcels(kilos, from + 1);
        if (kilos >= KILOS[from]) {
            best = Math.min(best, 1 + parcels(kilos - KILOS[from], from));
        }
        return best;
    }
}
