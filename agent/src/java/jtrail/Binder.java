package jtrail;

/**
 * Binds the native methods of a hook class. If native code binds methods of a class in java.base by
 * itself, the JVM prints a warning. It prints none if a class of the same loader asks for the
 * binding.
 *
 * <p>The agent defines this class in the boot loader too. There it belongs to no named module, so
 * that its own native method can be bound without a warning.
 */
final class Binder {
    /**
     * Identifies the build of the agent that this class belongs to, like the field of the hook
     * class.
     */
    private static long build;

    private Binder() {
    }

    static void bind(Class<?> hook) {
        bindNatives(hook);
    }

    private static native void bindNatives(Class<?> hook);
}
