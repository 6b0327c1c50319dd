package harness;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

/**
 * Classes that are unloaded with their loaders. The program collects until weak references show
 * that the dropped loaders are unloaded. Some JVMs never unload (ZGC before 12); then no class is
 * expected to be unloaded. Argument: number of loaders, default 12; every third one is kept.
 */
public final class Unloading {
    /** Loaded by each new loader, and never by the application's loader. */
    public static final class Guest implements IntSupplier {
        static int instances;

        @Override
        public int getAsInt() {
            instances++;
            return instances + Helper.help();
        }
    }

    public static final class Helper {
        static int help() {
            return 1;
        }
    }

    static final class GuestLoader extends ClassLoader {
        GuestLoader() {
            super(Unloading.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                if (!name.equals("harness.Unloading$Guest") && !name.equals("harness.Unloading$Helper")) {
                    return super.loadClass(name, resolve);
                }
                Class<?> known = findLoadedClass(name);
                if (known != null) {
                    return known;
                }
                try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                    byte[] bytes = in.readAllBytes();
                    return defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
        }
    }

    static final List<Object> KEPT = new ArrayList<>();
    static final List<WeakReference<ClassLoader>> DROPPED = new ArrayList<>();

    /**
     * Loads the classes by a new loader and calls them. Leaves no reference to the classes or their
     * loader on the stack.
     */
    static int load(boolean keep) throws ReflectiveOperationException {
        ClassLoader loader = new GuestLoader();
        IntSupplier guest = (IntSupplier) Class.forName("harness.Unloading$Guest", true, loader)
                .getDeclaredConstructor().newInstance();
        if (keep) {
            KEPT.add(guest);
        } else {
            DROPPED.add(new WeakReference<>(loader));
        }
        return guest.getAsInt();
    }

    static long collected() {
        return DROPPED.stream().filter(r -> r.get() == null).count();
    }

    public static void main(String[] args) throws Exception {
        int loaders = args.length > 0 ? Integer.parseInt(args[0]) : 12;
        int sum = 0;
        for (int i = 0; i < loaders; i++) {
            sum += load(i % 3 == 0);
        }
        for (int i = 0; i < 50 && collected() < DROPPED.size(); i++) {
            System.gc();
            Thread.sleep(10);
        }
        // If classes are unloaded concurrently with the program, the next collection waits for the
        // end of the unloading.
        System.gc();
        long collected = collected();
        Expect.same(true, collected == 0 || collected == DROPPED.size());
        System.out.println("sum " + sum);
        for (String name : List.of("harness.Unloading$Guest", "harness.Unloading$Helper")) {
            ExpectEvents.loaded(name, loaders);
            ExpectEvents.unloaded(name, collected);
        }
        ExpectEvents.objects(GuestLoader.class, loaders);
        Expect.print();
    }
}
