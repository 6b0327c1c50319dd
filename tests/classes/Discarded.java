import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.function.LongUnaryOperator;

public class Discarded {
    public static class Guest implements LongUnaryOperator {
        public long applyAsLong(long n) { return twice(n) + 1; }
        static long twice(long n) { return 2 * n; }
    }

    static final class Loader extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Discarded$Guest")) return super.loadClass(name, resolve);
            try (InputStream in = Discarded.class.getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static long sink;

    static WeakReference<ClassLoader> load() throws Exception {
        ClassLoader loader = new Loader();
        Object guest = loader.loadClass("Discarded$Guest").getDeclaredConstructor().newInstance();
        for (int i = 0; i < 200_000; i++) sink += ((LongUnaryOperator) guest).applyAsLong(i);
        return new WeakReference<>(loader);
    }

    public static void main(String[] args) throws Exception {
        WeakReference<ClassLoader> loader = load();
        for (int i = 0; i < 100 && loader.get() != null; i++) {
            System.gc();
            Thread.sleep(20);
        }
        System.gc();
        Thread.sleep(500); // the JVM reports it on a thread of its own
        System.out.println("gone " + (loader.get() == null));
    }
}
