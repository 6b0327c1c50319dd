package org.example.shop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.example.shop.catalog.Catalog;
import org.example.shop.orders.Checkout;
import org.example.shop.orders.Notifier;
import org.example.shop.orders.Order;
import org.example.shop.orders.OrderGenerator;
import org.example.shop.orders.Receipt;
import org.example.shop.pricing.PriceList;
import org.example.shop.search.SearchIndex;
import org.example.shop.util.Clock;
import org.example.shop.util.Dice;

/**
 * A small shop, to try a profiler on: a catalogue, a search, orders in a pool of threads with
 * waits, failures and retries, and a report. The same size prints the same results every time.
 *
 * <p>Arguments: size (default 40), threads (default 4).
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        int size = args.length > 0 ? Integer.parseInt(args[0]) : 40;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 4;
        Catalog catalog = Catalog.generate(200 + 5 * size);
        SearchIndex index = new SearchIndex(catalog);
        System.out.println("products " + catalog.size() + ", categories " + catalog.root().count());
        System.out.println("searches " + searches(index, 50 * size));

        List<Order> orders = new OrderGenerator(catalog, 42).generate(200 * size);
        List<Receipt> receipts = checkOut(catalog, orders, threads);
        Report report = Report.of(receipts);
        report.lines().forEach(System.out::println);

        try (Notifier notifier = new Notifier()) {
            receipts.forEach(notifier::send);
            System.out.println("notified " + notifier.drain());
        }
        System.out.println("waited " + (Clock.waits() > 0 ? "some" : "never"));
    }

    private static List<Receipt> checkOut(Catalog catalog, List<Order> orders, int threads)
            throws Exception {
        Checkout checkout = new Checkout(catalog, PriceList.standard());
        ExecutorService pool = Executors.newFixedThreadPool(threads, new Workers());
        try {
            List<Future<Receipt>> futures = new ArrayList<>();
            for (Order order : orders) {
                futures.add(pool.submit(() -> checkout.process(order)));
            }
            List<Receipt> receipts = new ArrayList<>();
            for (Future<Receipt> future : futures) {
                receipts.add(future.get());
            }
            return receipts;
        } finally {
            pool.shutdown();
        }
    }

    private static String searches(SearchIndex index, int count) {
        String[] queries = {"red chair", "large lamp", "blue", "old wooden table", "no such thing"};
        Dice dice = new Dice(3);
        int hits = 0;
        for (int i = 0; i < count; i++) {
            hits += index.search(dice.pick(queries), 1 + dice.next(7)).size();
        }
        Map<String, Long> statistics = index.statistics();
        return count + ", hits " + hits + ", cache " + statistics;
    }
}
