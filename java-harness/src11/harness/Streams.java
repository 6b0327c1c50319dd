package harness;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Streams, sequential and parallel: application code that the library calls. */
public final class Streams {
    static final class Item {
        final int id;
        final String kind;

        Item(int id) {
            this.id = id;
            this.kind = "k" + id % 7;
        }

        int id() {
            return id;
        }

        String kind() {
            return kind;
        }

        @Override
        public boolean equals(Object o) {
            return o instanceof Item && ((Item) o).id == id;
        }

        @Override
        public int hashCode() {
            return Objects.hash(id);
        }
    }

    static boolean isSelected(Item item) {
        return item.id % 3 != 0;
    }

    static long square(int n) {
        return (long) n * n;
    }

    public static void main(String[] args) {
        int n = 3000;
        List<Item> items = IntStream.range(0, n).mapToObj(Item::new).collect(Collectors.toList());
        Map<String, Integer> sums = items.stream()
                .filter(Streams::isSelected)
                .collect(Collectors.groupingBy(
                        Item::kind, TreeMap::new, Collectors.summingInt(Item::id)));
        long squares = IntStream.range(0, n).parallel().mapToLong(Streams::square).sum();
        long parallel = items.parallelStream().filter(Streams::isSelected).mapToInt(i -> i.id).sum();
        int first = items.stream().map(Item::id).filter(id -> id > 100).findFirst().get();
        String text = Stream.iterate(1, k -> k * 2).limit(10).map(String::valueOf)
                .collect(Collectors.joining(","));
        System.out.println(sums + " " + squares + " " + parallel + " " + first + " " + text);

        int selected = n / 3 * 2;
        Expect.Of main = Expect.program("harness.Streams");
        main.count("isSelected(Lharness/Streams$Item;)Z", 2 * n).count("square(I)J", n);
        // Calls of lambdas: i -> i.id; id > 100 for 0 to 101; k * 2 nine times.
        main.prefix("lambda$main$", selected + 102 + 9);
        main.nested("Item").count("<init>(I)V", n).count("kind()Ljava/lang/String;", selected)
                .count("id()I", selected + 102);
        Expect.print();
    }
}
