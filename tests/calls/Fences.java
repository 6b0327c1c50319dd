import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;

/** Prints whether the JVM spares returns from native code their fences. */
public class Fences {
    public static void main(String[] args) {
        HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        try {
            System.out.println(jvm.getVMOption("UseSystemMemoryBarrier").getValue());
        } catch (IllegalArgumentException none) {
            System.out.println("unknown");
        }
    }
}
