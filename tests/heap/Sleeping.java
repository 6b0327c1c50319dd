import com.sun.source.util.JavacTask;
import java.io.File;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.example.shop.catalog.Catalog;
import org.example.shop.orders.OrderGenerator;
import org.example.shop.search.SearchIndex;

/**
 * Works, keeps much of what it has created, and holds still until its input ends. Arguments: a
 * folder of Java sources, or "-" for none; then any word, if no virtual threads shall be created.
 * The JVM's compiler, if it has one, reads and attributes the sources, and its trees and symbols
 * are kept, too.
 */
public final class Sleeping {
    static final List<Object> KEPT = new ArrayList<>();

    interface Shape {}

    static final class Circle implements Shape {
        final double radius;
        Object next;

        Circle(double radius) {
            this.radius = radius;
        }
    }

    static final class Square implements Shape {
        final Circle[] inside = new Circle[3];
    }

    public static void main(String[] args) throws Exception {
        Catalog catalog = Catalog.generate(500);
        KEPT.add(catalog);
        KEPT.add(new SearchIndex(catalog));
        KEPT.add(new OrderGenerator(catalog, 42).generate(1000));
        if (args.length == 1) {
            org.example.shop.Main.main(new String[] {"2"}); // with virtual threads, if available
        }
        library();
        shapes();
        if (!args[0].equals("-")) {
            compiler(args[0]);
        }
        System.out.println("[ready]");
        while (System.in.read() >= 0) {
            // goes on until the end of the input
        }
    }

    private static void library() {
        TreeMap<Object, Object> tree = new TreeMap<>();
        ConcurrentSkipListMap<Object, Object> list = new ConcurrentSkipListMap<>();
        PriorityQueue<Object> queue = new PriorityQueue<>();
        LinkedList<Object> linked = new LinkedList<>();
        ArrayDeque<Object> deque = new ArrayDeque<>();
        for (int i = 0; i < 3000; i++) {
            tree.put(i, new BigDecimal(i));
            list.put(i, LocalDate.ofEpochDay(i));
            queue.add(new UUID(i, i).toString());
            linked.add(new BitSet(i % 200));
            deque.add(Duration.ofSeconds(i));
            int own = i;
            IntSupplier lambda = () -> own;
            deque.add(lambda);
        }
        tree.keySet().removeIf(key -> (Integer) key % 3 == 0);
        linked.subList(0, 1000).clear();
        KEPT.addAll(List.of(tree, list, queue, linked, deque));
    }

    private static void shapes() {
        Shape[][] grid = new Shape[20][30];
        for (int i = 0; i < 600; i++) {
            Square square = new Square();
            for (int k = 0; k < i % 4; k++) {
                square.inside[k] = new Circle(i);
                square.inside[k].next = k == 0 ? square : square.inside.clone();
            }
            grid[i / 30][i % 30] = i % 5 == 0 ? null : square;
        }
        KEPT.add(grid);
    }

    private static void compiler(String folder) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        if (compiler == null) {
            return; // this JVM has no compiler
        }
        List<File> sources;
        try (Stream<Path> all = Files.walk(Path.of(folder))) {
            sources = all.filter(path -> path.toString().endsWith(".java")).map(Path::toFile).collect(Collectors.toList());
        }
        if (sources.size() < 50) {
            throw new AssertionError(sources);
        }
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        JavacTask task = (JavacTask) compiler.getTask(null, files, null, List.of("-proc:none"), null,
                files.getJavaFileObjectsFromFiles(sources));
        KEPT.add(task.parse());
        KEPT.add(task.analyze());
        KEPT.add(task);
    }
}
