package harness;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.IntUnaryOperator;

/**
 * A class that is loaded again and again, each time by a new loader that becomes unreachable. A
 * server that deploys new versions of its applications does the same. Argument: how often, default
 * 2000. Reports how much more memory the process has at the end than after the first quarter, if
 * the system tells.
 */
public final class Reloads {
    private static final String PLUGIN = "harness.Reloads$Plugin";
    private static final int CALLS = 3;

    /** Loaded by each new loader, and never by the application's loader. */
    public static final class Plugin implements IntUnaryOperator {
        @Override
        public int applyAsInt(int n) {
            return first(n) + second(n) + third(n) + fourth(n);
        }

        private static int first(int n) {
            return n + 1;
        }

        private static int second(int n) {
            return n + 2;
        }

        private static int third(int n) {
            return n + 3;
        }

        private static int fourth(int n) {
            return n + 4;
        }
    }

    static final class PluginLoader extends ClassLoader {
        private final byte[] plugin;

        PluginLoader(byte[] plugin) {
            super(Reloads.class.getClassLoader());
            this.plugin = plugin;
        }

        Class<?> define() {
            return defineClass(PLUGIN, plugin, 0, plugin.length);
        }
    }

    /** Loads a class and calls it. Leaves no reference to the class or its loader on the stack. */
    static int load(byte[] plugin) throws ReflectiveOperationException {
        Class<?> type = new PluginLoader(plugin).define();
        IntUnaryOperator made = (IntUnaryOperator) type.getDeclaredConstructor().newInstance();
        int sum = 0;
        for (int i = 0; i < CALLS; i++) {
            sum += made.applyAsInt(i);
        }
        return sum;
    }

    /** Returns the memory of the process in kilobytes; 0 if the system does not tell. */
    static long memory() throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!Files.exists(status)) {
            return 0;
        }
        for (String line : Files.readAllLines(status)) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        return 0;
    }

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        byte[] plugin;
        try (InputStream in = Reloads.class.getResourceAsStream("Reloads$Plugin.class")) {
            plugin = in.readAllBytes();
        }
        long before = 0;
        int sum = 0;
        for (int i = 0; i < count; i++) {
            if (i % 500 == 0) {
                System.gc();
            }
            if (i == count / 4) {
                before = memory();
            }
            sum += load(plugin);
        }
        System.gc();
        long more = memory() - before;
        System.out.println("sum " + sum);

        Expect.Of main = Expect.program("harness.Reloads");
        main.count("load([B)I", count).count("memory()J", 2);
        main.nested("PluginLoader").count("<init>([B)V", count).count("define()Ljava/lang/Class;", count);
        long calls = (long) count * CALLS;
        main.nested("Plugin").constructor(count).count("applyAsInt(I)I", calls);
        for (String name : new String[] {"first", "second", "third", "fourth"}) {
            main.nested("Plugin").count(name + "(I)I", calls);
        }
        Expect.fact("kilobytes-more", Math.max(1, more));
        Expect.print();
    }
}
