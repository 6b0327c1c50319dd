package jtrail;

/**
 * Binds the native methods of the hook class. The JVM prints a warning when native code binds methods of java.base on its own account,
 * and none when a class of the same loader asks for it. The agent defines this class into the boot loader, where it belongs to no named
 * module, so that its own method may be bound without more ado.
 */
final class Binder {
    /** As in the hook class. */
    private static long build;

    private Binder() {
    }

    static void bind(Class<?> hook) {
        bindNatives(hook);
    }

    private static native void bindNatives(Class<?> hook);
}
