import java.lang.instrument.*;
import java.security.ProtectionDomain;

/**
 * A Java agent that transforms classes, too. It goes through the bytes of every harness class, and
 * appends a constant to the end of the constant pool. It also retransforms a class that is already
 * loaded. In its {@code premain}, before the JVM tells other agents that it is ready, it calls a
 * class of the program.
 */
public class Neighbour {
    static int seen;

    public static void premain(String args, Instrumentation instrumentation) throws Exception {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> redefined,
                                    ProtectionDomain domain, byte[] bytes) {
                if (name == null || !name.startsWith("harness/")) return null;
                seen++;
                return withOneMoreConstant(bytes);
            }
        }, true);
        Early.call();
        instrumentation.retransformClasses(Early.class);
        Early.call();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("neighbour saw some: " + (seen > 0))));
    }

    static byte[] withOneMoreConstant(byte[] in) {
        int count = (in[8] & 255) << 8 | in[9] & 255;
        int at = 10;
        for (int i = 1; i < count; i++) {
            switch (in[at]) {
                case 1: at += 3 + ((in[at + 1] & 255) << 8 | in[at + 2] & 255); break;
                case 5: case 6: at += 9; i++; break;
                case 7: case 8: case 16: case 19: case 20: at += 3; break;
                case 15: at += 4; break;
                default: at += 5;
            }
        }
        byte[] out = new byte[in.length + 5];
        System.arraycopy(in, 0, out, 0, at);
        out[at] = 3; // an int constant, 0
        System.arraycopy(in, at, out, at + 5, in.length - at);
        out[8] = (byte) ((count + 1) >> 8);
        out[9] = (byte) (count + 1);
        return out;
    }
}

class Early {
    static void call() { }
}
