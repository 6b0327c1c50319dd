package harness;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.ArrayList;
import java.util.List;

/**
 * A Java agent that retransforms classes of the harness and changes nothing in them. It shows what
 * retransformation permanently costs a JVM in which there is no jtrail.
 */
public final class Again {
    private static Instrumentation instrumentation;

    private Again() {}

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
        given.addTransformer(new ClassFileTransformer() {}, true);
    }

    /**
     * Retransforms all loaded classes of the harness except {@code Expect…}, in one call. jtrail
     * does the same when it attaches or detaches. Returns the number of these classes.
     */
    static int make() throws UnmodifiableClassException {
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            String name = loaded.getName();
            if (name.startsWith("harness.") && !name.startsWith("harness.Expect")) {
                classes.add(loaded);
            }
        }
        instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
        return classes.size();
    }
}
