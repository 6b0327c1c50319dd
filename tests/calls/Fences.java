import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;

/** Prints whether the JVM omits memory fences on returns from native code. */
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
