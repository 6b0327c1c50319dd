package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What instrumented code calls. The agent defines this class into the boot loader, as a member of
 * java.base it is found through every class loader and readable from every module. There are several such classes, alike but for
 * their names: each agent that comes to a JVM uses another one. If nothing else is said, the argument is the id of the method that is running.
 */
public final class JtrailHook {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /** Address of the line counters, 64 bits each; 0 without any. Set by the agent, which lets the memory go when nobody is in {@link #line} any more. */
    private static long lines;
    /** In the first of these classes: how many agents there have been in this JVM. */
    private static int agents;

    private JtrailHook() {
    }

    /** The method begins. */
    public static native void enter(int method);

    /** The method is about to return. */
    public static native void leave(int method);

    /** An exception is about to leave the method. */
    public static native void leaveByException(int method);

    /** The method caught an exception: calls above it are gone. */
    public static native void caught(int method);

    /** The constructor is about to call this(...) or super(...). */
    public static native void superCall(int method);

    /** The constructor is back from this(...) or super(...). */
    public static native void superReturned(int method);

    /** A line begins: the argument is the number of its counter. */
    public static void line(int number) {
        long first = lines;
        if (first != 0) {
            UNSAFE.getAndAddLong(null, first + 8L * number, 1);
        }
    }

    /** An object was created, and is not initialised yet. The argument is the number of the place in the code. */
    public static native void allocated(int site);

    /** An array of one dimension was created. */
    public static native void arrayAllocated(int length, int site);

    /** An array of arrays was created, with those that it holds. */
    public static native void multiAllocated(Object array, int site);

    /** A method was called that makes an object, and made this one. */
    public static native void callAllocated(Object made, int site);

    /** The class of that name, as code in the class {@code from} means it. */
    static Class<?> find(String name, Class<?> from) throws ClassNotFoundException {
        return Class.forName(name, false, from.getClassLoader());
    }

    /** The thread is about to park; whether the running method has the blocker as its first argument. */
    public static native void park(int hasBlocker);

    /** The thread is back from parking. */
    public static native void unpark(int ignored);
}
