import com.sun.source.util.JavacTask;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Runs the sample application and, beside it, the JVM's compiler, if it has one. The compiler reads
 * a folder of sources, which is the argument. Every few milliseconds, the program asks for the CPU
 * time that their threads have used, with a call of {@link #mark} before and after each question.
 * It prints the answers: thread, and nanoseconds used or -1.
 */
public final class Clocks {
    private static int marks;

    public static void main(String[] args) throws Exception {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        Thread shop = new Thread(() -> {
            try {
                org.example.shop.Main.main(new String[] {"20"});
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }, "shop");
        shop.start();
        Thread javac = new Thread(() -> compile(args[0]), "javac");
        javac.start();
        List<String> answers = new ArrayList<>();
        while (shop.isAlive() || javac.isAlive()) {
            for (ThreadInfo info : bean.getThreadInfo(bean.getAllThreadIds())) {
                if (info == null || !info.getThreadName().matches("shop|checkout-\\d+|javac")) {
                    continue;
                }
                mark();
                long used = bean.getThreadCpuTime(info.getThreadId());
                mark();
                answers.add("cpu\t" + info.getThreadName() + "\t" + used);
            }
            Thread.sleep(5);
        }
        answers.forEach(System.out::println);
    }

    private static void compile(String folder) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        if (compiler == null) {
            return; // this JVM has no compiler
        }
        try (Stream<Path> all = Files.walk(Path.of(folder));
                StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            List<File> sources = all.filter(path -> path.toString().endsWith(".java")).map(Path::toFile).collect(Collectors.toList());
            JavacTask task = (JavacTask) compiler.getTask(null, files, null, List.of("-proc:none"), null, files.getJavaFileObjectsFromFiles(sources));
            task.parse();
            task.analyze();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** A call whose time is in the trace. */
    private static void mark() {
        marks++;
    }
}
