package java.lang;

/**
 * What instrumented code calls. The agent defines this class into the boot loader, as a member of
 * java.base it is found through every class loader and readable from every module. The argument is the id of the method that is running.
 */
public final class JtrailHook {
    private JtrailHook() {
    }

    /**
     * Binds the methods below. The JVM prints a warning when native code binds methods of java.base on its own
     * account, and none when a class of java.base asks for it, as here.
     */
    static void bind() {
        bindNatives();
    }

    /** Found by its name in the agent's library. */
    private static native void bindNatives();

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
}
