package org.example.shop.catalog;

import java.util.ArrayList;
import java.util.List;

/** A node in the tree of categories. */
public final class Category {
    private final String name;
    private final Category parent;
    private final List<Category> children = new ArrayList<>();

    Category(String name, Category parent) {
        this.name = name;
        this.parent = parent;
        if (parent != null) {
            parent.children.add(this);
        }
    }

    /** Returns the number of categories in this one, including itself. */
    public int count() {
        int count = 1;
        for (Category child : children) {
            count += child.count();
        }
        return count;
    }

    public boolean isIn(Category other) {
        return this == other || parent != null && parent.isIn(other);
    }

    public String path() {
        return parent == null ? name : parent.path() + "/" + name;
    }

    public List<Category> children() {
        return children;
    }

    /** Adds the categories without children to a list, in order. */
    public void leaves(List<Category> into) {
        if (children.isEmpty()) {
            into.add(this);
        }
        children.forEach(child -> child.leaves(into));
    }
}
