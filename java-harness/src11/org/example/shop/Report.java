package org.example.shop;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.example.shop.orders.Receipt;

/** What was sold, and what was not, as sums over all orders. */
final class Report {
    private final Map<Receipt.Status, Long> byStatus;
    private final Map<String, Long> centsByCustomer;
    private final long total;

    private Report(Map<Receipt.Status, Long> byStatus, Map<String, Long> centsByCustomer, long total) {
        this.byStatus = byStatus;
        this.centsByCustomer = centsByCustomer;
        this.total = total;
    }

    static Report of(List<Receipt> receipts) {
        Map<Receipt.Status, Long> byStatus = receipts.stream()
                .collect(Collectors.groupingBy(Receipt::status, TreeMap::new, Collectors.counting()));
        Map<String, Long> byCustomer = receipts.stream()
                .collect(Collectors.groupingBy(Receipt::customer, Collectors.summingLong(Receipt::cents)));
        return new Report(byStatus, byCustomer, receipts.stream().mapToLong(Receipt::cents).sum());
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        byStatus.forEach((status, count) -> lines.add(status.label() + " " + count));
        lines.add("total " + money(total));
        centsByCustomer.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
                        .thenComparing(Map.Entry.comparingByKey()))
                .limit(3)
                .map(e -> "best customer " + e.getKey() + " " + money(e.getValue()))
                .forEach(lines::add);
        return lines;
    }

    private static String money(long cents) {
        return cents / 100 + "." + cents / 10 % 10 + cents % 10;
    }
}
