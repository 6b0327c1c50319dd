package harness;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Calls through reflection and method handles, often enough that the library generates code for
 * them.
 */
public final class Reflection {
    static final class Target {
        private final int value;

        private Target(int value) {
            if (value % 10 == 9) {
                throw new IllegalArgumentException("nine");
            }
            this.value = value;
        }

        private int get() {
            return value;
        }

        static long add(long a, double b) {
            return a + (long) b;
        }

        void fail() {
            throw new IllegalStateException("target");
        }

        boolean[] wide(byte a, char b, short c, float d, int[][] e) {
            return new boolean[] {a == b};
        }
    }

    public static void main(String[] args) throws Throwable {
        int n = 200;
        long sum = 0;
        int failed = 0;
        Constructor<Target> make = Target.class.getDeclaredConstructor(int.class);
        make.setAccessible(true);
        Method get = Target.class.getDeclaredMethod("get");
        Method add = Target.class.getDeclaredMethod("add", long.class, double.class);
        Method fail = Target.class.getDeclaredMethod("fail");
        Method wide = Target.class.getDeclaredMethod(
                "wide", byte.class, char.class, short.class, float.class, int[][].class);
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle handle = lookup.findVirtual(Target.class, "get", MethodType.methodType(int.class));
        MethodHandle maker = lookup.findConstructor(
                Target.class, MethodType.methodType(void.class, int.class));
        for (int i = 0; i < n; i++) {
            Target target;
            try {
                target = make.newInstance(i);
            } catch (InvocationTargetException e) {
                failed++;
                continue;
            }
            sum += (Integer) get.invoke(target) + (Long) add.invoke(null, 1L, 2.5);
            try {
                fail.invoke(target);
            } catch (InvocationTargetException e) {
                failed++;
            }
            sum += Array.getLength(wide.invoke(target, (byte) 1, 'b', (short) 3, 4f, null));
            sum += (int) handle.invokeExact((Target) maker.invokeExact(i));
        }
        System.out.println("sum " + sum + " failed " + failed);

        int good = n / 10 * 9;
        Expect.Of main = Expect.program("harness.Reflection");
        main.nested("Target").count("<init>(I)V", n + good).count("get()I", 2 * good)
                .count("add(JD)J", good).count("fail()V", good).count("wide(BCSF[[I)[Z", good);
        Expect.print();
    }
}
