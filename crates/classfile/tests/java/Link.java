import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads and links each class of a list, with one name per line, without initialising it. Prints the
 * classes that do not verify.
 */
public class Link {
    public static void main(String[] args) throws Exception {
        int linked = 0;
        int missing = 0;
        for (String name : Files.readAllLines(Path.of(args[0]))) {
            try {
                // getDeclaredMethods links the class.
                Class.forName(name, false, ClassLoader.getSystemClassLoader()).getDeclaredMethods();
                linked++;
            } catch (VerifyError | ClassFormatError | IncompatibleClassChangeError e) {
                System.out.println(name + ": " + e.toString().replace('\n', ' '));
            } catch (LinkageError | ClassNotFoundException e) {
                missing++;
            }
        }
        long calls = Class.forName("java.lang.JtrailHook").getField("calls").getLong(null);
        System.out.println("linked " + linked + ", missing others " + missing + ", hook calls " + calls);
    }
}
