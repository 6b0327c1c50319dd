import java.util.ArrayList;
import java.util.List;

/**
 * Starts another JVM, as benchmark harnesses and test runners do. With the argument
 * {@code arguments}, that JVM gets the arguments of this one.
 */
public class Forks {
    static int work(int n) {
        return n < 2 ? n : work(n - 1) + work(n - 2);
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("child")) {
            System.out.println("child " + ProcessHandle.current().pid() + " " + work(Integer.getInteger("depth", 15)));
            return;
        }
        work(16);
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java"));
        if (args[0].equals("arguments")) {
            command.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "Forks", "child"));
        System.out.println("exit " + new ProcessBuilder(command).inheritIO().start().waitFor());
        work(16);
    }
}
