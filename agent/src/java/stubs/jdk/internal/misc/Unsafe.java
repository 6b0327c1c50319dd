package jdk.internal.misc;

/**
 * Stub of the JDK's class of this name, with the methods that the hook class calls. The hook class
 * is compiled against it; the agent does not contain it.
 */
public final class Unsafe {
    private Unsafe() {
    }

    public static native Unsafe getUnsafe();

    public native long objectFieldOffset(Class<?> type, String field);

    public native long getLong(Object object, long offset);

    public native void putLong(Object object, long offset, long value);

    public native void putLongRelease(Object object, long offset, long value);

    public native int getIntVolatile(Object object, long offset);

    public native long getAndAddLong(Object object, long offset, long delta);
}
