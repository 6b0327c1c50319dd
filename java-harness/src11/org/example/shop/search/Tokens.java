package org.example.shop.search;

import java.util.Iterator;
import java.util.NoSuchElementException;

/** The words of a text. */
final class Tokens implements Iterable<String> {
    private final String text;

    private Tokens(String text) {
        this.text = text;
    }

    static Tokens of(String text) {
        return new Tokens(text);
    }

    @Override
    public Iterator<String> iterator() {
        return new Iterator<>() {
            private int at = skip(0);

            @Override
            public boolean hasNext() {
                return at < text.length();
            }

            @Override
            public String next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                int end = at;
                while (end < text.length() && isLetter(text.charAt(end))) {
                    end++;
                }
                String word = text.substring(at, end);
                at = skip(end);
                return word;
            }
        };
    }

    private int skip(int from) {
        while (from < text.length() && !isLetter(text.charAt(from))) {
            from++;
        }
        return from;
    }

    private static boolean isLetter(char c) {
        return c >= 'a' && c <= 'z';
    }
}
