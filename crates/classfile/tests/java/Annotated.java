import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Type annotations at every place in code that can have one, and local variables of all lifetimes.
 */
public class Annotated {
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.TYPE_USE, ElementType.METHOD})
    @interface Mark {
        int value() default 0;
        String[] names() default {};
        Deep deep() default @Deep;
    }

    @interface Deep {
        Class<?> type() default Object.class;
        RetentionPolicy policy() default RetentionPolicy.CLASS;
        int[] numbers() default {1, 2};
    }

    static class Resource implements AutoCloseable {
        public void close() {}
    }

    @Deprecated
    @Mark(value = 1, names = {"a", "b"}, deep = @Deep(type = String.class, numbers = {}))
    static <T> T id(T t) { return t; }

    public static int test() throws Exception {
        @Mark(1) int n = 0;
        try (@Mark(2) Resource r = new @Mark(3) Resource()) {
            Object o = new @Mark(4) ArrayList<@Mark(5) String>();
            if (o instanceof @Mark(6) List) n++;
            List<String> list = (@Mark(7) List<String>) o;
            Function<String, Integer> f = @Mark(8) Integer::valueOf;
            Supplier<Object> s = @Mark(9) Object::new;
            n += Annotated.<@Mark(10) Integer>id(f.apply("4"));
            for (@Mark(11) String each : list) n += each.length();
            if (n > 100) return s.hashCode();
        } catch (@Mark(12) IllegalStateException e) {
            n += 2;
        }
        switch (n) {
            case 5: {
                long x = n;
                n += x;
                break;
            }
            default:
                n = -1;
        }
        return n;
    }
}
