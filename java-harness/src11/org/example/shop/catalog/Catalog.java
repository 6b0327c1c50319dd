package org.example.shop.catalog;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.example.shop.util.Dice;

/** All products. */
public final class Catalog {
    private static final String[] COLOURS = {"red", "blue", "green", "white", "black"};
    private static final String[] KINDS = {"chair", "lamp", "table", "shelf", "carpet", "clock", "mirror"};
    private static final String[] SHAPES = {"large", "small", "old", "round", "wooden", "steel"};

    private final Category root;
    private final List<Product> products;

    private Catalog(Category root, List<Product> products) {
        this.root = root;
        this.products = products;
    }

    public static Catalog generate(int count) {
        Category root = grow(null, "all", 3);
        List<Category> leaves = new ArrayList<>();
        root.leaves(leaves);
        Dice dice = new Dice(7);
        List<Product> products = new ArrayList<>();
        for (int id = 0; id < count; id++) {
            String name = dice.pick(SHAPES) + " " + dice.pick(COLOURS) + " " + dice.pick(KINDS);
            products.add(new Product(id, name, 99 + dice.next(20_000), leaves.get(dice.next(leaves.size()))));
        }
        return new Catalog(root, Collections.unmodifiableList(products));
    }

    private static Category grow(Category parent, String name, int depth) {
        Category category = new Category(name, parent);
        for (int i = 0; depth > 0 && i < 4; i++) {
            grow(category, name.charAt(0) + "" + i, depth - 1);
        }
        return category;
    }

    public Category root() {
        return root;
    }

    public List<Product> products() {
        return products;
    }

    public Product product(int id) {
        return products.get(id);
    }

    public int size() {
        return products.size();
    }

    /** Returns true if the product is in stock. Every 50th product never is. */
    public boolean inStock(Product product) {
        return product.id() % 50 != 49;
    }
}
