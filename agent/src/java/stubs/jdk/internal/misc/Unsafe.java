package jdk.internal.misc;

/** What the hook class needs of the JDK's own class, to compile against; never part of the agent. */
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
