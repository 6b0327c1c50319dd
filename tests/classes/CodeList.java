import java.lang.management.ManagementFactory;
import javax.management.ObjectName;

public class CodeList {
    static long sink;

    static int leaf(int n) { return n * 31 + 7; }

    static long caller(int n) {
        long sum = 0;
        for (int i = 0; i < 10; i++) sum += leaf(n + i);
        return sum;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 200_000; i++) sink += caller(i);
        String list = null;
        for (int i = 0; i < 2; i++) { // the first command compiles what it needs itself
            Thread.sleep(700);
            System.out.println("TIME " + System.currentTimeMillis());
            list = (String) ManagementFactory.getPlatformMBeanServer().invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"), "compilerCodelist", null, null);
        }
        System.out.print(list);
    }
}
