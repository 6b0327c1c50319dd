import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

/**
 * Class loaders of all kinds, each with a plug-in of its own. Most of them return only those
 * classes of the JDK that they know. Prints what the plug-ins do, and how often the loaders are
 * called for classes other than jtrail's.
 */
public class ForeignLoaders {
    static final String PLUGIN = "ForeignLoaders$Plugin";
    static final Set<String> LIST = new HashSet<>(Arrays.asList("java.lang.Object", "java.lang.String", "java.lang.Runnable", "java.lang.System"));
    static final String[] MODES = {"list", "delegates", "own-first", "slow-and-delegates", "error", "exception", "null", "other", "slow", "tells", "deep", "sneaky"};
    static int calls;

    /**
     * The class that the loaders define. The application's loader defines another one, which is not
     * used.
     */
    public static class Plugin implements Runnable {
        public void run() {
            int sum = 0;
            for (int i = 0; i < 10; i++) {
                sum = add(sum, i);
            }
            System.setProperty("sum", String.valueOf(sum));
        }

        public static int add(int a, int b) {
            return a + b;
        }
    }

    static byte[] plugin() throws ClassNotFoundException {
        try (InputStream in = ForeignLoaders.class.getResourceAsStream("/" + PLUGIN + ".class")) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new ClassNotFoundException(PLUGIN, e);
        }
    }

    /** A class loader that is not parallel-capable: the JVM takes its monitor to call it. */
    static class Foreign extends ClassLoader {
        final String mode;

        Foreign(String mode) {
            super(null);
            this.mode = mode;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            boolean isHook = name.startsWith("java.lang.JtrailHook");
            calls += isHook ? 0 : 1;
            synchronized (getClassLoadingLock(name)) {
                Class<?> found = findLoadedClass(name);
                if (found != null) {
                    return found;
                }
                if (name.equals(PLUGIN) && !mode.equals("parent")) {
                    byte[] bytes = plugin();
                    return defineClass(name, bytes, 0, bytes.length);
                }
                if (LIST.contains(name)) {
                    return Class.forName(name, false, null);
                }
                return unknown(name);
            }
        }

        Class<?> unknown(String name) throws ClassNotFoundException {
            switch (mode) {
                case "delegates": return super.loadClass(name, false);
                case "own-first":
                    try {
                        return findClass(name);
                    } catch (ClassNotFoundException e) {
                        return super.loadClass(name, false);
                    }
                case "slow-and-delegates": pause(); return super.loadClass(name, false);
                case "error": throw new AssertionError(name);
                case "exception": throw new IllegalStateException(name);
                case "null": return null;
                case "other": return String.class;
                case "slow": pause(); break;
                case "tells": System.err.println("asked for " + name); break;
                case "deep": deep(0); break;
                case "sneaky": ForeignLoaders.<RuntimeException>sneaky(new Exception(name)); break;
                default:
            }
            throw new ClassNotFoundException(name + " is not allowed in a plug-in");
        }
    }

    /** A class loader without a loadClass of its own, whose parent is a {@link Foreign}. */
    static class Heir extends ClassLoader {
        Heir() {
            super(new Foreign("parent"));
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!name.equals(PLUGIN)) {
                throw new ClassNotFoundException(name);
            }
            byte[] bytes = plugin();
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static int deep(int n) {
        return deep(n + 1) + 1;
    }

    @SuppressWarnings("unchecked")
    static <T extends Throwable> void sneaky(Throwable e) throws T {
        throw (T) e;
    }

    static void round(Map<String, Runnable> plugins) {
        for (Map.Entry<String, Runnable> plugin : plugins.entrySet()) {
            System.setProperty("sum", "");
            try {
                plugin.getValue().run();
                System.out.println(plugin.getKey() + " " + System.getProperty("sum"));
            } catch (Throwable e) {
                System.out.println(plugin.getKey() + " " + e);
            }
        }
        System.out.println("loadClass " + calls);
    }

    /**
     * One thread holds a lock and makes the first call of a plug-in. Another thread holds the
     * plug-in's loader and waits for the lock.
     */
    static void locks() throws Exception {
        for (String mode : new String[] {"delegates", "list"}) {
            Foreign loader = new Foreign(mode);
            Method add = loader.loadClass(PLUGIN).getMethod("add", int.class, int.class);
            Object lock = new Object();
            CountDownLatch has = new CountDownLatch(1);
            Thread other = new Thread(() -> {
                synchronized (loader) {
                    has.countDown();
                    synchronized (lock) {
                        System.out.println("both");
                    }
                }
            });
            synchronized (lock) {
                other.start();
                has.await();
                System.out.println(add.invoke(null, 1, 2));
            }
            other.join();
        }
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("locks")) {
            locks();
            return;
        }
        List<ClassLoader> loaders = new ArrayList<>();
        Map<String, Runnable> plugins = new LinkedHashMap<>();
        for (String mode : MODES) {
            loaders.add(new Foreign(mode));
        }
        loaders.add(new Heir());
        for (ClassLoader loader : loaders) {
            String name = loader instanceof Foreign ? ((Foreign) loader).mode : "heir";
            plugins.put(name, (Runnable) loader.loadClass(PLUGIN).getDeclaredConstructor().newInstance());
        }
        round(plugins);
        if (args[0].equals("attached")) {
            System.out.println("READY");
            System.in.read();
            round(plugins);
        }
    }
}
