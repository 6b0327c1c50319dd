import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Hooks for lines and allocations that fail on demand, as in a stack overflow, and the program that
 * makes them fail. The program runs each method of some classes twice for each hook number: with
 * this hook failing, and with this hook and all with higher numbers failing. After each run, it
 * checks that the method's lock is free.
 */
public final class Failing {
    private static int from = Integer.MAX_VALUE;
    private static int to;
    private static int thrown;
    private static String running;

    private Failing() {}

    public static void enter(int id) {}
    public static void leave(int id) {}
    public static void leaveByException(int id) {}
    public static void caught(int id) {}
    public static void superCall(int id) {}
    public static void superReturned(int id) {}

    public static void line(int number) {
        if (number < from || number > to) return;
        if (++thrown > 1000) {
            System.out.println("runs in circles: " + running);
            System.out.flush();
            Runtime.getRuntime().halt(0);
        }
        throw new StackOverflowError();
    }

    public static void allocated(int site) { line(site); }
    public static void arrayAllocated(int length, int site) { line(site); }
    public static void multiAllocated(Object array, int site) { line(site); }
    public static void callAllocated(Object made, int site) { line(site); }

    /**
     * Runs the methods of all given classes. Arguments: the highest hook number, and the classes.
     */
    public static void main(String[] args) throws Exception {
        int last = Integer.parseInt(args[0]);
        int failed = 0;
        for (int arg = 1; arg < args.length; arg++) {
            for (Method method : Class.forName(args[arg]).getDeclaredMethods()) {
                if (method.getParameterCount() != 1 || method.getParameterTypes()[0] != Object.class) continue;
                method.setAccessible(true);
                for (int number = 0; number <= last; number++) {
                    // A method that tries until it succeeds would never end if a single hook
                    // failed. On a real overflow, the hooks of its handler fail, too: only the
                    // second line runs such a method.
                    if (!method.getName().startsWith("until") && fails(method, number, number)) failed++;
                    if (fails(method, number, last)) failed++;
                }
            }
        }
        System.out.println("failed " + failed);
    }

    /** Runs a method while the hooks from first to last fail. Returns true if one has failed. */
    private static boolean fails(Method method, int first, int last) throws Exception {
        Object lock = new Object();
        running = method + " with hooks from " + first + " to " + last;
        thrown = 0;
        from = first;
        to = last;
        try {
            method.invoke(null, lock);
        } catch (InvocationTargetException e) {
            Throwable cause = e.getCause();
            if (!(cause instanceof StackOverflowError)) System.out.println(running + ": " + cause);
        } finally {
            from = Integer.MAX_VALUE;
        }
        if (Thread.holdsLock(lock)) System.out.println("locked: " + running);
        return thrown > 0;
    }
}
