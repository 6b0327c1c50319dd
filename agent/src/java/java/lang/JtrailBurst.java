package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What instrumented code calls where only bursts are recorded: the hook stands behind a gate, which costs next to nothing while it is
 * shut. The agent opens and shuts it without a call into the JVM, so it is a word of memory, as the counters of lines are.
 */
public final class JtrailBurst {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /** Address of 32 bits, 0 while the gate is shut. */
    private static final long GATE = gate();

    private JtrailBurst() {
    }

    private static native long gate();

    private static boolean isOpen() {
        return UNSAFE.getIntVolatile(null, GATE) != 0;
    }

    public static void enter(int method) {
        if (isOpen()) {
            JtrailHook.enter(method);
        }
    }

    public static void leave(int method) {
        if (isOpen()) {
            JtrailHook.leave(method);
        }
    }

    public static void leaveByException(int method) {
        if (isOpen()) {
            JtrailHook.leaveByException(method);
        }
    }

    public static void caught(int method) {
        if (isOpen()) {
            JtrailHook.caught(method);
        }
    }

    public static void superCall(int method) {
        if (isOpen()) {
            JtrailHook.superCall(method);
        }
    }

    public static void superReturned(int method) {
        if (isOpen()) {
            JtrailHook.superReturned(method);
        }
    }

    public static void line(int number) {
        if (isOpen()) {
            JtrailHook.line(number);
        }
    }

    public static void allocated(int site) {
        if (isOpen()) {
            JtrailHook.allocated(site);
        }
    }

    public static void arrayAllocated(int length, int site) {
        if (isOpen()) {
            JtrailHook.arrayAllocated(length, site);
        }
    }

    public static void multiAllocated(Object array, int site) {
        if (isOpen()) {
            JtrailHook.multiAllocated(array, site);
        }
    }

    public static void callAllocated(Object made, int site) {
        if (isOpen()) {
            JtrailHook.callAllocated(made, site);
        }
    }

    /** As {@link #enter}, in a method whose calls may begin a burst. */
    public static native void triggerEnter(int method);

    /** As {@link #leave}, likewise. */
    public static native void triggerLeave(int method);

    /** As {@link #leaveByException}, likewise. */
    public static native void triggerLeaveByException(int method);
}
