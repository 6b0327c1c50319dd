package org.example.shop.search;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.example.shop.catalog.Catalog;
import org.example.shop.catalog.Product;
import org.example.shop.util.LruCache;

/** Finds products by the words of their names. */
public final class SearchIndex {
    private final Map<String, TreeSet<Product>> byWord = new HashMap<>();
    private final LruCache<String, List<Product>> cache = new LruCache<>(20);

    public SearchIndex(Catalog catalog) {
        for (Product product : catalog.products()) {
            for (String word : Tokens.of(product.name())) {
                byWord.computeIfAbsent(word, w -> new TreeSet<>()).add(product);
            }
        }
    }

    /** Returns the best matches. Of equally good ones, the cheaper one comes first. */
    public List<Product> search(String query, int limit) {
        return cache.get(query + "#" + limit, key -> find(query, limit));
    }

    private List<Product> find(String query, int limit) {
        Map<Product, Integer> scores = new HashMap<>();
        for (String word : Tokens.of(query)) {
            for (Product product : byWord.getOrDefault(word, new TreeSet<>())) {
                scores.merge(product, score(word), Integer::sum);
            }
        }
        return scores.entrySet().stream()
                .sorted(Map.Entry.<Product, Integer>comparingByValue(Comparator.reverseOrder())
                        .thenComparing(e -> e.getKey().cents())
                        .thenComparing(Map.Entry.comparingByKey()))
                .limit(limit)
                .map(Map.Entry::getKey)
                .collect(Collectors.toCollection(ArrayList::new));
    }

    private int score(String word) {
        return word.length() + 100 / (1 + byWord.get(word).size());
    }

    public Map<String, Long> statistics() {
        return new TreeMap<>(Map.of("hits", cache.hits(), "misses", cache.misses()));
    }
}
