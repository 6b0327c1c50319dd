package java.lang;

import jdk.internal.misc.Unsafe;
import jtrail.Gated;

/**
 * The class that instrumented code calls. The agent defines it in the boot loader. As a member of
 * java.base, it is found through every class loader and is readable from every module.
 *
 * <p>A JVM may have several such classes, which differ only in their names: each agent in the JVM
 * has one of its own. Unless noted otherwise, the argument of a method is the number of the
 * instrumented method that is running.
 */
public final class JtrailHook {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /**
     * Address of the line counters, 64 bits each; 0 if lines are not counted. The agent sets it,
     * and frees the counters only when no thread is in {@link #line} any more.
     */
    private static long lines;
    /**
     * Identifies the build of the agent that this class belongs to. Set by the agent that defines
     * the class.
     */
    private static long build;
    /** Number of agents of this build that this JVM has had. Used in the first hook class only. */
    private static int agents;

    /**
     * Address of the gate. The gate is a word of 32 bits that is 0 while nothing is recorded. The
     * address is 0 if there is no gate. Set by the agent.
     */
    private static long gate;

    /**
     * Address of the coarse clock's word. In memory, the cache lines of the buffers follow the word
     * ({@code ticks.rs}). The address is 0 if each call gets an exact stamp. Set by the agent.
     */
    private static long ticks;
    /** Offset of the thread id in a {@code Thread}; negative if this JVM keeps the id elsewhere. */
    private static final long ID = placeOfId();

    /*
     * The agent's build compares the following constants with those of its Rust code
     * (java_constants.rs).
     */

    /*
     * Offsets and sizes in bytes: of the table of cache lines, of a cache line, and of a chunk. The
     * cursor is at offset 0 of a cache line.
     */
    private static final long FIRST_LINE = 64;
    private static final long LINES = 1 << 14;
    private static final int LINE_BITS = 6;
    private static final long LINE_ID = 16;
    private static final long LINE_TICK = 24;
    private static final long LINE_STAMP = 32;
    private static final long CHUNK = 256 << 10;

    /* Values of the lower bits of a record. */
    private static final int METHOD_SHIFT = 1;
    private static final int LEAVE = 1;
    private static final int LEAVE_BY_EXCEPTION = 0x1fffe02;
    private static final int CAUGHT = 0x1fffe04;
    private static final int SUPER_CALL = 0x1fffe06;
    private static final int SUPER_RETURNED = 0x1fffe08;

    private JtrailHook() {
    }

    /** Called at a method's entry. */
    @Gated
    public static native void enter(int method);

    /** Called before a method returns. */
    @Gated
    public static native void leave(int method);

    /** Called when an exception is about to leave the method. */
    @Gated
    public static native void leaveByException(int method);

    /**
     * Called when a handler of the method has caught an exception. The calls that the method made
     * are over.
     */
    @Gated
    public static native void caught(int method);

    /** Called in a constructor directly before its call of this(...) or super(...). */
    @Gated
    public static native void superCall(int method);

    /** Called in a constructor directly after its call of this(...) or super(...) has returned. */
    @Gated
    public static native void superReturned(int method);

    /*
     * With the coarse clock, instrumented code calls the following methods. As long as the clock's
     * word has not changed since the running thread took its last stamp, they store a record with
     * that stamp and do not call the agent.
     *
     * Between reading the cursor and moving it, nothing may stop the thread or record for the
     * thread. So these methods have no loop, create no object, and call none of the agent's code
     * there.
     */

    /** Like {@link #enter}, but stamps the record with the coarse clock. */
    public static void tickEnter(int method) {
        tick(method << METHOD_SHIFT);
    }

    /** Like {@link #leave}, but stamps the record with the coarse clock. */
    public static void tickLeave(int method) {
        tick(method << METHOD_SHIFT | LEAVE);
    }

    /** Like {@link #leaveByException}, but stamps the record with the coarse clock. */
    public static void tickLeaveByException(int method) {
        tick(LEAVE_BY_EXCEPTION, method);
    }

    /** Like {@link #caught}, but stamps the record with the coarse clock. */
    public static void tickCaught(int method) {
        tick(CAUGHT, method);
    }

    /** Like {@link #superCall}, but stamps the record with the coarse clock. */
    public static void tickSuperCall(int method) {
        tick(SUPER_CALL, method);
    }

    /** Like {@link #superReturned}, but stamps the record with the coarse clock. */
    public static void tickSuperReturned(int method) {
        tick(SUPER_RETURNED, method);
    }

    private static void tick(int low) {
        long clock = ticks;
        if (clock == 0) {
            return;
        }
        // Buffers belong to carriers. Where threads may be virtual, the agent replaces the name of
        // currentThread by currentCarrierThread in this class.
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

    /**
     * Reads the clock and stores a record of one word. The arguments are the lower bits of the
     * record and the id of the thread that owns the buffer.
     */
    private static native void stamp(int low, long id);

    /**
     * Like {@link #stamp(int, long)}, for a record that is followed by a word with the method's
     * number.
     */
    private static native void stamp(int low, int method, long id);

    private static long placeOfId() {
        try {
            return UNSAFE.objectFieldOffset(Thread.class, "tid");
        } catch (Throwable elsewhere) {
            return -1;
        }
    }

    /** Called where a source line begins. The argument is the number of the line's counter. */
    @Gated
    public static void line(int number) {
        long first = lines;
        if (first != 0) {
            UNSAFE.getAndAddLong(null, first + 8L * number, 1);
        }
    }

    /**
     * Called after a {@code new}, when the object is not initialised yet. The argument is the
     * number of the allocation site.
     */
    @Gated
    public static native void allocated(int site);

    /** Called after the creation of a one-dimensional array. */
    @Gated
    public static native void arrayAllocated(int length, int site);

    /**
     * Like {@link #arrayAllocated(int, int)}, for objects with identity: the agent then needs the
     * array itself.
     */
    @Gated
    public static native void arrayAllocated(Object array, int length, int site);

    /** Called once after the creation of an array of arrays and of all arrays in it. */
    @Gated
    public static native void multiAllocated(Object array, int site);

    /**
     * Called after the call of a method that creates objects. The argument is the returned object.
     */
    @Gated
    public static native void callAllocated(Object made, int site);

    /** Called when the construction of an object has reached the constructor of {@code Object}. */
    @Gated
    public static native void constructed(Object object);

    /**
     * Returns the class that code in the class {@code from} refers to by {@code name}. Does not
     * initialise the class.
     */
    static Class<?> find(String name, Class<?> from) throws ClassNotFoundException {
        return Class.forName(name, false, from.getClassLoader());
    }

    /**
     * Called before the thread parks. The argument is 1 if the running method has the blocker as
     * its first argument, otherwise 0.
     */
    public static native void park(int hasBlocker);

    /** Called after the thread has parked. */
    public static native void unpark(int ignored);

    /** Called at the entry of a static initialiser. */
    public static native void initialiserEnter(int method);

    /** Called before a static initialiser returns. */
    public static native void initialiserLeave(int method);

    /** Called when an exception is about to leave a static initialiser. */
    public static native void initialiserLeaveByException(int method);

    /** Like {@link #initialiserEnter}, for an initialiser whose calls are recorded as well. */
    public static native void calledInitialiserEnter(int method);

    /** Like {@link #initialiserLeave}, for an initialiser whose calls are recorded as well. */
    public static native void calledInitialiserLeave(int method);

    /**
     * Like {@link #initialiserLeaveByException}, for an initialiser whose calls are recorded as
     * well.
     */
    public static native void calledInitialiserLeaveByException(int method);

    /*
     * If only bursts are recorded, instrumented code calls other methods: burstEnter, burstLeave
     * and so on. The agent's build adds them to this class, one for each method that is marked as
     * Gated. They return at once while the gate is closed, which costs next to nothing. The gate is
     * a word of memory, like the counters of lines, so that the agent opens and closes it without a
     * call of the JVM.
     */

    private static boolean isOpen() {
        long address = gate;
        return address != 0 && UNSAFE.getIntVolatile(null, address) != 0;
    }

    /** Like {@code burstEnter}, for a method whose calls may begin a burst. */
    public static native void triggerEnter(int method);

    /** Like {@code burstLeave}, for a method whose calls may begin a burst. */
    public static native void triggerLeave(int method);

    /** Like {@code burstLeaveByException}, for a method whose calls may begin a burst. */
    public static native void triggerLeaveByException(int method);
}
