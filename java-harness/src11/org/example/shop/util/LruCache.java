package org.example.shop.util;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** Keeps the values that were used last. It has one lock, so that threads wait for each other. */
public final class LruCache<K, V> {
    private final Map<K, V> entries;
    private long hits;
    private long misses;

    public LruCache(int limit) {
        entries = new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
                return size() > limit;
            }
        };
    }

    public synchronized V get(K key, Function<? super K, ? extends V> make) {
        V value = entries.get(key);
        if (value != null) {
            hits++;
            return value;
        }
        misses++;
        value = make.apply(key);
        entries.put(key, value);
        return value;
    }

    public synchronized long hits() {
        return hits;
    }

    public synchronized long misses() {
        return misses;
    }
}
