import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Prints what reflection says of classes and members with all flags that Java has. */
public abstract class Flags {
    private static final class PrivateStatic {}

    protected abstract static class ProtectedAbstract {
        protected abstract void declared();
    }

    private final class Inner {
        final int outer = secret;
    }

    protected interface Contract {
        int CONSTANT = 1;

        void required();

        default void given() {}

        static void helper() {}

        private void hidden() {}
    }

    @interface Label {
        String value() default "";
    }

    private enum Colour {
        RED,
        GREEN {
            @Override
            int code() {
                return 2;
            }
        };

        int code() {
            return 1;
        }
    }

    static strictfp class Members implements Comparable<Members> {
        public static final int CONSTANT = 7;
        private transient volatile int changing;
        protected final long fixed = 3;
        int plain;

        private Members() {}

        protected Members(int plain) {
            this.plain = plain;
        }

        public final synchronized void guarded() {}

        static void many(String... values) {}

        native void outside();

        @Override
        public int compareTo(Members other) { // has a bridge method
            return changing - other.plain;
        }
    }

    private int secret;

    static Object anonymous() {
        return new Object() {};
    }

    static Object local() {
        final class Local {}
        return new Local();
    }

    static void print(Class<?> type) {
        System.out.println("CLASS " + type.getName() + " " + type.getModifiers());
        for (Field field : type.getDeclaredFields()) {
            String descriptor = MethodType.methodType(field.getType()).toMethodDescriptorString().substring(2);
            print(type, field.getName() + " " + descriptor, field.getModifiers());
        }
        for (Method method : type.getDeclaredMethods()) {
            MethodType signature = MethodType.methodType(method.getReturnType(), method.getParameterTypes());
            print(type, method.getName() + " " + signature.toMethodDescriptorString(), method.getModifiers());
        }
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            MethodType signature = MethodType.methodType(void.class, constructor.getParameterTypes());
            print(type, "<init> " + signature.toMethodDescriptorString(), constructor.getModifiers());
        }
    }

    static void print(Class<?> type, String member, int modifiers) {
        System.out.println("MEMBER " + type.getName() + " " + member + " " + modifiers);
    }

    public static void main(String[] args) throws Exception {
        print(Flags.class);
        for (String nested : args) {
            print(Class.forName("Flags$" + nested));
        }
        for (String library : new String[] {"java.util.HashMap$Node", "java.util.Map$Entry", "java.lang.Thread$State",
                "java.util.Collections$EmptyList", "java.lang.Override", "java.lang.Object"}) {
            Class<?> type = Class.forName(library);
            System.out.println("CLASS " + type.getName() + " " + type.getModifiers());
        }
    }
}
