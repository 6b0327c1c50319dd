package harness;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;

/**
 * An agent in Java, which has the JVM make classes of the harness anew and changes nothing in them: what that costs the JVM for good, it loses
 * without us.
 */
public final class Again {
    private static Instrumentation instrumentation;

    private Again() {}

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
        given.addTransformer(new ClassFileTransformer() {}, true);
    }

    /** All that are loaded, save the bookkeeping, as they are when jtrail comes or goes. How many there are. */
    static int make() throws UnmodifiableClassException {
        int made = 0;
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            String name = loaded.getName();
            if (name.startsWith("harness.") && !name.startsWith("harness.Expect")) {
                instrumentation.retransformClasses(loaded);
                made++;
            }
        }
        return made;
    }
}
