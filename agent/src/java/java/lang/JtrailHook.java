package java.lang;

import jdk.internal.misc.Unsafe;
import jtrail.Gated;

/**
 * What instrumented code calls. The agent defines this class into the boot loader, as a member of
 * java.base it is found through every class loader and readable from every module. There are several such classes, alike but for
 * their names: each agent that comes to a JVM uses another one. If nothing else is said, the argument is the id of the method that is running.
 */
public final class JtrailHook {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /** Address of the line counters, 64 bits each; 0 without any. Set by the agent, which lets the memory go when nobody is in {@link #line} any more. */
    private static long lines;
    /** Tells the classes of one build of the agent from those of another. Set by the agent that defines the class. */
    private static long build;
    /** In the first of these classes: how many agents of its build there have been in this JVM. */
    private static int agents;

    /** Address of 32 bits, which are 0 while nothing is recorded; 0 where there is no such gate. Set by the agent. */
    private static long gate;

    /** Address of the coarse clock's word, with the lines of buffers behind it ({@code ticks.rs}); 0 where each call gets a stamp. Set by the agent. */
    private static long ticks;
    /** Where a thread has its id; negative if this JVM has it elsewhere. */
    private static final long ID = placeOfId();

    /* The build compares all these constants with those of the agent (java_constants.rs). */

    /* Offsets and sizes in bytes of the table of lines, of a line and of a chunk. A line's cursor is at offset 0. */
    private static final long FIRST_LINE = 64;
    private static final long LINES = 1 << 14;
    private static final int LINE_BITS = 6;
    private static final long LINE_ID = 16;
    private static final long LINE_TICK = 24;
    private static final long LINE_STAMP = 32;
    private static final long CHUNK = 256 << 10;

    /* The lower part of a record. */
    private static final int METHOD_SHIFT = 1;
    private static final int LEAVE = 1;
    private static final int LEAVE_BY_EXCEPTION = 0x1fffe02;
    private static final int CAUGHT = 0x1fffe04;
    private static final int SUPER_CALL = 0x1fffe06;
    private static final int SUPER_RETURNED = 0x1fffe08;

    private JtrailHook() {
    }

    /** The method begins. */
    @Gated
    public static native void enter(int method);

    /** The method is about to return. */
    @Gated
    public static native void leave(int method);

    /** An exception is about to leave the method. */
    @Gated
    public static native void leaveByException(int method);

    /** The method caught an exception: calls above it are gone. */
    @Gated
    public static native void caught(int method);

    /** The constructor is about to call this(...) or super(...). */
    @Gated
    public static native void superCall(int method);

    /** The constructor is back from this(...) or super(...). */
    @Gated
    public static native void superReturned(int method);

    /*
     * With the coarse clock, instrumented code calls these. As long as the clock's word is the one with which the running thread took its last
     * stamp, they store a record with that stamp, and call nothing. Nothing in here may stop a thread between its look at the cursor and the
     * cursor's move, or record for it meanwhile: so there is no call of ours, no loop and no new object.
     */

    /** As {@link #enter}. */
    public static void tickEnter(int method) {
        tick(method << METHOD_SHIFT);
    }

    /** As {@link #leave}. */
    public static void tickLeave(int method) {
        tick(method << METHOD_SHIFT | LEAVE);
    }

    /** As {@link #leaveByException}. */
    public static void tickLeaveByException(int method) {
        tick(LEAVE_BY_EXCEPTION, method);
    }

    /** As {@link #caught}. */
    public static void tickCaught(int method) {
        tick(CAUGHT, method);
    }

    /** As {@link #superCall}. */
    public static void tickSuperCall(int method) {
        tick(SUPER_CALL, method);
    }

    /** As {@link #superReturned}. */
    public static void tickSuperReturned(int method) {
        tick(SUPER_RETURNED, method);
    }

    private static void tick(int low) {
        long clock = ticks;
        if (clock == 0) {
            return;
        }
        // The agent makes that the carrier where threads may be virtual: buffers belong to carriers.
        long id = UNSAFE.getLong(Thread.currentThread(), ID);
        long line = clock + FIRST_LINE + ((id & LINES - 1) << LINE_BITS);
        long cursor = UNSAFE.getLong(null, line);
        if (UNSAFE.getLong(null, line + LINE_ID) == id
                && UNSAFE.getLong(null, line + LINE_TICK) == UNSAFE.getLong(null, clock)
                && (cursor & CHUNK - 1) != 0) {
            UNSAFE.putLong(null, cursor, UNSAFE.getLong(null, line + LINE_STAMP) | low);
            UNSAFE.putLongRelease(null, line, cursor + 8);
        } else {
            stamp(low, id);
        }
    }

    private static void tick(int low, int method) {
        long clock = ticks;
        if (clock == 0) {
            return;
        }
        long id = UNSAFE.getLong(Thread.currentThread(), ID);
        long line = clock + FIRST_LINE + ((id & LINES - 1) << LINE_BITS);
        long cursor = UNSAFE.getLong(null, line);
        if (UNSAFE.getLong(null, line + LINE_ID) == id
                && UNSAFE.getLong(null, line + LINE_TICK) == UNSAFE.getLong(null, clock)
                && (cursor & CHUNK - 1) != 0 && (cursor & CHUNK - 1) != CHUNK - 8) {
            UNSAFE.putLong(null, cursor, UNSAFE.getLong(null, line + LINE_STAMP) | low);
            UNSAFE.putLong(null, cursor + 8, method);
            UNSAFE.putLongRelease(null, line, cursor + 16);
        } else {
            stamp(low, method, id);
        }
    }

    /** Records with a look at the clock. The arguments are the lower part of the record and the id of the thread that has a buffer. */
    private static native void stamp(int low, long id);

    /** The same, for a record with a method behind it. */
    private static native void stamp(int low, int method, long id);

    private static long placeOfId() {
        try {
            return UNSAFE.objectFieldOffset(Thread.class, "tid");
        } catch (Throwable elsewhere) {
            return -1;
        }
    }

    /** A line begins: the argument is the number of its counter. */
    @Gated
    public static void line(int number) {
        long first = lines;
        if (first != 0) {
            UNSAFE.getAndAddLong(null, first + 8L * number, 1);
        }
    }

    /** An object was created, and is not initialised yet. The argument is the number of the place in the code. */
    @Gated
    public static native void allocated(int site);

    /** An array of one dimension was created. */
    @Gated
    public static native void arrayAllocated(int length, int site);

    /** The same, where objects have identity. */
    @Gated
    public static native void arrayAllocated(Object array, int length, int site);

    /** An array of arrays was created, with those that it holds. */
    @Gated
    public static native void multiAllocated(Object array, int site);

    /** A method was called that makes an object, and made this one. */
    @Gated
    public static native void callAllocated(Object made, int site);

    /** The object's constructor has come to that of {@code Object}. */
    @Gated
    public static native void constructed(Object object);

    /** The class of that name, as code in the class {@code from} means it. */
    static Class<?> find(String name, Class<?> from) throws ClassNotFoundException {
        return Class.forName(name, false, from.getClassLoader());
    }

    /** The thread is about to park; whether the running method has the blocker as its first argument. */
    public static native void park(int hasBlocker);

    /** The thread is back from parking. */
    public static native void unpark(int ignored);

    /** A static initialiser begins. */
    public static native void initialiserEnter(int method);

    /** The static initialiser is about to return. */
    public static native void initialiserLeave(int method);

    /** An exception is about to leave the static initialiser. */
    public static native void initialiserLeaveByException(int method);

    /** As {@link #initialiserEnter}, in one whose calls are recorded as well. */
    public static native void calledInitialiserEnter(int method);

    /** As {@link #initialiserLeave}, likewise. */
    public static native void calledInitialiserLeave(int method);

    /** As {@link #initialiserLeaveByException}, likewise. */
    public static native void calledInitialiserLeaveByException(int method);

    /*
     * Where only bursts are recorded, instrumented code calls other methods, which the build adds to this class: burstEnter, burstLeave and so
     * on, one for each method that is marked with Gated. They stop at a gate, which costs next to nothing while it is closed. The agent opens
     * and closes the gate without a call into the JVM, so it is a word of memory, as the counters of lines are.
     */

    private static boolean isOpen() {
        long address = gate;
        return address != 0 && UNSAFE.getIntVolatile(null, address) != 0;
    }

    /** As {@code burstEnter}, in a method whose calls may begin a burst. */
    public static native void triggerEnter(int method);

    /** As {@code burstLeave}, likewise. */
    public static native void triggerLeave(int method);

    /** As {@code burstLeaveByException}, likewise. */
    public static native void triggerLeaveByException(int method);
}
