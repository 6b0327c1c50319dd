import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;

/**
 * A Java agent that sees each class after the agents that precede it on the command line. At the
 * end, it prints what it has seen.
 */
public class Witness {
    static final Map<String, String> SEEN = new ConcurrentSkipListMap<>();

    public static void premain(String args, Instrumentation instrumentation) throws Exception {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> redefined,
                                    ProtectionDomain domain, byte[] bytes) {
                if (name != null && (redefined != null || name.startsWith("harness/"))) {
                    CRC32 sum = new CRC32();
                    // The JVM reconstructs the class files of loaded classes, with methods in the
                    // order of their addresses.
                    if (redefined == null) {
                        sum.update(bytes);
                    }
                    SEEN.put(name, bytes.length + ":" + sum.getValue());
                }
                return null;
            }
        }, true);
        instrumentation.retransformClasses(LockSupport.class, java.util.ArrayList.class);
        Runtime.getRuntime().addShutdownHook(new Thread(
                () -> SEEN.forEach((name, sum) -> System.out.println("SEEN " + name + " " + sum))));
    }
}
