import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.graalvm.visualvm.lib.jfluid.ProfilerClient;
import org.graalvm.visualvm.lib.jfluid.ProfilerEngineSettings;
import org.graalvm.visualvm.lib.jfluid.TargetAppRunner;
import org.graalvm.visualvm.lib.jfluid.client.AppStatusHandler;
import org.graalvm.visualvm.lib.jfluid.client.ClientUtils.SourceCodeSelection;
import org.graalvm.visualvm.lib.jfluid.client.ProfilingPointsProcessor;
import org.graalvm.visualvm.lib.jfluid.client.RuntimeProfilingPoint;
import org.graalvm.visualvm.lib.jfluid.filters.JavaTypeFilter;
import org.graalvm.visualvm.lib.jfluid.global.CommonConstants;
import org.graalvm.visualvm.lib.jfluid.global.Platform;
import org.graalvm.visualvm.lib.jfluid.results.ProfilingResultsDispatcher;
import org.graalvm.visualvm.lib.jfluid.results.cpu.CPUCallGraphBuilder;
import org.graalvm.visualvm.lib.jfluid.results.cpu.FlatProfileBuilder;
import org.graalvm.visualvm.lib.jfluid.results.cpu.FlatProfileContainer;

/**
 * VisualVM's instrumenting profiler without its windows: a client of the profiler's server in a JVM
 * that waits for one. It has the methods of the given classes instrumented, like "Profile CPU"
 * does. When the program ends, it takes the results, and prints how many calls were counted and how
 * long it took to sum them up.
 *
 * <p>Arguments: folder of the profiler's libraries; port; program and version of the JVM; then
 * {@code calibrate}, or classes. A class is {@code Name}; {@code package.**} stands for all classes
 * of a package and of those below. {@code calibrate} measures the cost of the profiler itself,
 * once; without the result the profiler does not begin.
 */
public final class VisualVmClient implements AppStatusHandler {
    private final CountDownLatch ending = new CountDownLatch(1);
    private final CountDownLatch counted = new CountDownLatch(1);

    private VisualVmClient() {}

    public static void main(String[] args) throws Exception {
        System.exit(new VisualVmClient().run(args) ? 0 : 1);
    }

    private boolean run(String[] args) throws Exception {
        ProfilerEngineSettings settings = new ProfilerEngineSettings();
        settings.initialize(args[0]);
        settings.setPortNo(Integer.parseInt(args[1]));
        settings.setTargetJVMExeFile(args[2]);
        settings.setTargetJDKVersionString(Platform.getJDKVersionString(args[3]));
        settings.setSystemArchitecture(Platform.getSystemArchitecture());
        settings.setJVMArgs("");
        settings.setMainArgs("");
        settings.setSeparateConsole(false);
        // Count every call, on every thread.
        settings.setCPUProfilingType(CommonConstants.CPU_INSTR_FULL);
        settings.setInstrScheme(CommonConstants.INSTRSCHEME_LAZY);
        settings.setInstrumentGetterSetterMethods(true);
        settings.setInstrumentEmptyMethods(true);
        settings.setInstrumentSpawnedThreads(true);
        settings.setNProfiledThreadsLimit(1 << 20);
        TargetAppRunner runner = new TargetAppRunner(settings, this, new NoPoints());
        if (args[4].equals("calibrate")) {
            return runner.readSavedCalibrationData() || runner.calibrateInstrumentationCode();
        }
        List<SourceCodeSelection> roots = new ArrayList<>();
        StringBuilder filter = new StringBuilder();
        for (int i = 4; i < args.length; i++) {
            roots.add(new SourceCodeSelection(args[i], "*", ""));
            filter.append(i == 4 ? "" : ", ").append(args[i]);
        }
        settings.setInstrumentationRootMethods(roots.toArray(new SourceCodeSelection[0]));
        settings.setInstrumentationFilter(new JavaTypeFilter(filter.toString(), JavaTypeFilter.TYPE_INCLUSIVE));
        return count(runner, Arrays.copyOfRange(args, 4, args.length));
    }

    private boolean count(TargetAppRunner runner, String[] classes) throws Exception {
        ProfilerClient client = runner.getProfilerClient();
        CPUCallGraphBuilder calls = new CPUCallGraphBuilder();
        FlatProfileBuilder methods = new FlatProfileBuilder();
        ProfilingResultsDispatcher.getDefault().addListener(calls);
        calls.addListener(methods);
        methods.setContext(client, null, null);
        calls.startup(client);
        if (!runner.readSavedCalibrationData()) {
            return false;
        }
        client.initiateRecursiveCPUProfInstrumentation(runner.getProfilerEngineSettings().getInstrumentationRootMethods());
        if (!runner.initiateSession(1, false) || !runner.attachToTargetVMOnStartup()) {
            return false;
        }
        ending.await();
        long began = System.nanoTime();
        FlatProfileContainer profile = methods.createFlatProfile();
        for (int i = 0; i < 100 && profile == null; i++) {
            Thread.sleep(100); // the last events may not have arrived yet
            profile = methods.createFlatProfile();
        }
        long sum = 0;
        for (int row = 0; profile != null && row < profile.getNRows(); row++) {
            if (isOf(profile.getMethodNameAtRow(row), classes)) {
                sum += profile.getNInvocationsAtRow(row);
            }
        }
        System.out.println("calls=" + sum + " micros=" + (System.nanoTime() - began) / 1000);
        counted.countDown();
        for (int i = 0; i < 100 && runner.targetJVMIsAlive(); i++) {
            Thread.sleep(100);
        }
        return profile != null;
    }

    /**
     * Returns true if the method belongs to one of the classes. The profiler also counts the
     * methods in which threads begin.
     */
    private static boolean isOf(String method, String[] classes) {
        for (String name : classes) {
            String begin = name.endsWith(".**") ? name.substring(0, name.length() - 2) : name + ".";
            if (method.startsWith(begin)) {
                return true;
            }
        }
        return false;
    }

    /** Called at the end of the program, which goes on when this method returns. */
    @Override
    public void handleShutdown() {
        ending.countDown();
        try {
            counted.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static final class NoPoints extends ProfilingPointsProcessor {
        @Override
        public void profilingPointHit(RuntimeProfilingPoint.HitEvent event) {}

        @Override
        public void timeAdjust(int thread, long first, long second) {}

        @Override
        public void init(Object project) {}

        @Override
        public RuntimeProfilingPoint[] getSupportedProfilingPoints() {
            return new RuntimeProfilingPoint[0];
        }
    }

    private static void say(String kind, String text) {
        System.err.println(kind + ": " + text);
    }

    @Override
    public AsyncDialog getAsyncDialogInstance(String message, boolean showProgress, Runnable cancel) {
        return new AsyncDialog() {
            @Override
            public void close() {}

            @Override
            public void display() {}
        };
    }

    @Override
    public void displayError(String text) {
        say("error", text);
    }

    @Override
    public void displayErrorAndWaitForConfirm(String text) {
        say("error", text);
    }

    @Override
    public void displayErrorWithDetailsAndWaitForConfirm(String text, String details) {
        say("error", text + ": " + details);
    }

    @Override
    public void displayNotification(String text) {}

    @Override
    public void displayNotificationAndWaitForConfirm(String text) {}

    @Override
    public void displayNotificationWithDetailsAndWaitForConfirm(String text, String details) {}

    @Override
    public void displayWarning(String text) {
        say("warning", text);
    }

    @Override
    public void displayWarningAndWaitForConfirm(String text) {
        say("warning", text);
    }

    @Override
    public void resultsAvailable() {}

    @Override
    public void takeSnapshot() {}

    @Override
    public boolean confirmWaitForConnectionReply() {
        return true;
    }

    @Override
    public void pauseLiveUpdates() {}

    @Override
    public void resumeLiveUpdates() {}
}
