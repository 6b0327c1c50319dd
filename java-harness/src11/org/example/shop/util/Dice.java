package org.example.shop.util;

/** Numbers that look random and are the same in every run. */
public final class Dice {
    private long state;

    public Dice(long seed) {
        state = seed * 0x9E3779B97F4A7C15L + 1;
    }

    /** Returns a number from 0 to bound - 1. */
    public int next(int bound) {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        return (int) Math.floorMod(state, (long) bound);
    }

    public <T> T pick(T[] from) {
        return from[next(from.length)];
    }
}
