package harness;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.IntUnaryOperator;

/**
 * A class of the same name in several class loaders, some of which are unloaded again. Argument:
 * number of loaders, default 5.
 */
public final class Loaders {
    /** Loaded once by each loader, and once by the application's loader. */
    public static final class Plugin implements IntUnaryOperator {
        static int loaded = start();

        static int start() {
            return 1;
        }

        @Override
        public int applyAsInt(int n) {
            return loaded + helper(n);
        }

        private static int helper(int n) {
            return new Object() {
                int twice() {
                    return 2 * n;
                }
            }.twice();
        }
    }

    /**
     * Class loader that defines the plugin's classes itself, and leaves all others to its parent.
     */
    static final class PluginLoader extends ClassLoader {
        PluginLoader(ClassLoader parent) {
            super(parent);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("harness.Loaders$Plugin")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            return known != null ? known : define(name);
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static int use(IntUnaryOperator plugin, int calls) {
        int sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += plugin.applyAsInt(i);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int loaders = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        int calls = 50;
        int sum = use(new Plugin(), calls);
        for (int i = 0; i < loaders; i++) {
            ClassLoader loader = new PluginLoader(Loaders.class.getClassLoader());
            Class<?> type = Class.forName("harness.Loaders$Plugin", true, loader);
            Expect.same(false, type == Plugin.class);
            Object plugin = type.getDeclaredConstructor().newInstance();
            sum += use((IntUnaryOperator) plugin, calls);
            loader = null;
            type = null;
            plugin = null; // so that a collection can unload the classes
            if (i % 2 == 0) {
                System.gc();
            }
        }
        System.out.println("sum " + sum);

        // Each loader defines the plugin and its anonymous class, with the same names.
        Expect.Of main = Expect.program("harness.Loaders");
        main.count("use(Ljava/util/function/IntUnaryOperator;I)I", loaders + 1);
        main.nested("PluginLoader").count("<init>(Ljava/lang/ClassLoader;)V", loaders)
                .count("define(Ljava/lang/String;)Ljava/lang/Class;", 2 * loaders);
        // The JVM and the library call loadClass as often as they like.
        main.nested("PluginLoader").range(
                "loadClass(Ljava/lang/String;Z)Ljava/lang/Class;", 2 * loaders, 100 * loaders);
        long all = loaders + 1;
        main.nested("Plugin").count("<clinit>()V", all).count("start()I", all)
                .count("<init>()V", all).count("applyAsInt(I)I", all * calls)
                .count("helper(I)I", all * calls);
        main.nested("Plugin$1").constructor(all * calls).count("twice()I", all * calls);
        Expect.fact("plugin-classes", 2 * all);
        Expect.print();
    }
}
