package harness;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Bridge methods of generics and of covariant results, and methods with a variable number of
 * arguments.
 */
public final class Generics {
    abstract static class Box<T extends Comparable<T>> {
        abstract T get();

        abstract void set(T value);

        int compare(Box<T> other) {
            return get().compareTo(other.get());
        }
    }

    static final class TextBox extends Box<String> {
        private String text = "";

        @Override
        String get() {
            return text;
        }

        @Override
        void set(String value) {
            text = value;
        }
    }

    static final class Version implements Comparable<Version>, Cloneable {
        final int number;

        Version(int number) {
            this.number = number;
        }

        @Override
        public int compareTo(Version other) {
            return Integer.compare(number, other.number);
        }

        @Override
        public Version clone() {
            try {
                return (Version) super.clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static int sum(int... numbers) {
        return Arrays.stream(numbers).sum();
    }

    @SafeVarargs
    static <T> List<T> list(T first, T... more) {
        List<T> list = new ArrayList<>(List.of(more));
        list.add(0, first);
        return list;
    }

    static <T extends Comparable<T>> T max(List<? extends T> list) {
        return Collections.max(list);
    }

    public static void main(String[] args) throws Exception {
        int n = 150;
        int total = 0;
        for (int i = 0; i < n; i++) {
            TextBox a = new TextBox();
            Box<String> b = new TextBox();
            a.set("a" + i);
            b.set("b");
            total += a.compare(b) < 0 ? 1 : 0;
            total += sum() + sum(1) + sum(1, 2, i);
            total += list(i).size() + list("a", "b", "c").size();
            total += max(list(new Version(i), new Version(5))).number;
            Object copy = new Version(i).clone();
            total += ((Version) copy).number;
        }
        System.out.println("total " + total);

        Expect.Of main = Expect.program("harness.Generics");
        main.count("sum([I)I", 3 * n).count("max(Ljava/util/List;)Ljava/lang/Comparable;", n)
                .count("list(Ljava/lang/Object;[Ljava/lang/Object;)Ljava/util/List;", 3 * n);
        main.nested("Box").count("<init>()V", 2 * n).count("compare(Lharness/Generics$Box;)I", n);
        // a.set(String) is called directly, b.set through its bridge, and get always through its
        // bridge.
        main.nested("TextBox").count("<init>()V", 2 * n)
                .count("get()Ljava/lang/String;", 2 * n).count("get()Ljava/lang/Comparable;", 2 * n)
                .count("set(Ljava/lang/String;)V", 2 * n).count("set(Ljava/lang/Comparable;)V", n);
        main.nested("Version").count("<init>(I)V", 3 * n).count("clone()Lharness/Generics$Version;", n)
                .count("compareTo(Lharness/Generics$Version;)I", n)
                .count("compareTo(Ljava/lang/Object;)I", n);
        Expect.print();
    }
}
