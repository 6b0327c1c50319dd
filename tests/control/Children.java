import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * Prints [ready]. For each line of its input, starts another program in two ways, and then prints
 * [done]. The other program prints the file descriptors that it has inherited.
 */
public final class Children {
    private static void show(Process child) throws IOException, InterruptedException {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(child.getInputStream()))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                System.out.println("child: " + line);
            }
        }
        if (child.waitFor() != 0) {
            throw new AssertionError("it failed");
        }
    }

    public static void main(String[] args) throws Exception {
        String[] command = {"ls", "-l", "/proc/self/fd"};
        System.out.println("[ready]");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            show(new ProcessBuilder(command).redirectErrorStream(true).start());
            show(Runtime.getRuntime().exec(command));
            System.out.println("[done]");
        }
    }
}
