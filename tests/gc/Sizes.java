import com.sun.management.GarbageCollectorMXBean;
import com.sun.management.GcInfo;
import java.lang.management.*;
import java.util.*;

public class Sizes {
    static byte[][] held;
    static byte[] last;

    static String line(GarbageCollectorMXBean bean, Set<String> heap) {
        GcInfo info = bean.getLastGcInfo();
        long used = 0, committed = 0;
        for (Map.Entry<String, MemoryUsage> pool : info.getMemoryUsageAfterGc().entrySet()) {
            if (heap.contains(pool.getKey())) {
                used += pool.getValue().getUsed();
                int spaces = pool.getKey().contains("Survivor") ? 2 : 1;
                committed += spaces * pool.getValue().getCommitted();
            }
        }
        boolean isFull = bean.getName().contains("MarkSweep");
        return "AFTER " + (isFull ? "full " : "young ") + info.getId() + " " + used + " " + committed;
    }

    public static void main(String[] args) {
        Set<String> heap = new HashSet<>();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.HEAP) heap.add(pool.getName());
        }
        for (int i = 0; i < 12; i++) {
            held = new byte[i * 3 % 8 * 256][4096];
            for (int k = 0; k < 1500; k++) last = new byte[4096];
            System.gc();
            for (GarbageCollectorMXBean bean : ManagementFactory.getPlatformMXBeans(GarbageCollectorMXBean.class)) {
                System.out.println(line(bean, heap));
            }
        }
    }
}
