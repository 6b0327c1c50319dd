import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A Java agent that retransforms classes and changes nothing in them. It shows what
 * retransformation by any agent costs the program. Argument: a pattern for the names of the
 * classes.
 */
public final class Again {
    private Again() {}

    public static void agentmain(String names, Instrumentation instrumentation) throws Exception {
        Pattern pattern = Pattern.compile(names);
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (instrumentation.isModifiableClass(loaded) && pattern.matcher(loaded.getName()).matches()) {
                classes.add(loaded);
            }
        }
        ClassFileTransformer none = new ClassFileTransformer() {};
        instrumentation.addTransformer(none, true);
        instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
        instrumentation.removeTransformer(none);
    }
}
