package jtrail;

import java.time.Duration;

/**
 * The trace that the jtrail agent records of this program.
 *
 * <p>Without the agent, all methods do nothing. They never throw: a program must not fail because
 * it can't be traced. A {@link Result} tells whether a call was done; it may be ignored. All
 * methods may be called from any thread.
 *
 * <p>If the agent was loaded with {@code server=application}, the program may begin and end traces,
 * pause them and record bursts. In any case it may {@link #mark} and ask whether a trace
 * {@linkplain #isActive is recorded}.
 */
public final class Trace {
    /** The outcome of a call. */
    public static final class Result {
        static final Result DONE = new Result(null);
        static final Result NO_AGENT = new Result("there is no agent");

        private final String problem;

        Result(String problem) {
            this.problem = problem;
        }

        /** Returns true if the call was done. */
        public boolean isDone() {
            return problem == null;
        }

        /** Returns why the call was not done, as a short sentence; empty if it was done. */
        public String problem() {
            return problem == null ? "" : problem;
        }

        @Override
        public String toString() {
            return problem == null ? "done" : problem;
        }
    }

    private static final int START = 0;
    private static final int STOP = 1;
    private static final int PAUSE = 2;
    private static final int RESUME = 3;
    private static final int BURST_TIME = 4;
    private static final int BURST_EVENTS = 5;
    private static final int MARK = 6;

    /**
     * True while an agent has bound the native methods: from when it is loaded or attaches until it
     * detaches. Set by the agent.
     */
    private static volatile boolean bound;

    private Trace() {
    }

    /** Begins a trace with the file and the format of the agent's options. */
    public static Result start() {
        return start(null, null);
    }

    /** Begins a trace into the given file, in the format of the agent's options. */
    public static Result start(String file) {
        return start(file, null);
    }

    /**
     * Begins a trace. Calls that are open now are not in it.
     *
     * @param file name of the trace's file; {@code %p}, {@code %t}, {@code %h} and {@code %%} mean
     * the same as in the agent's option {@code file}. Null stands for the name in the agent's
     * options, with a number added if that file exists
     * @param format {@code xml}, {@code binary}, {@code jinsight}, {@code mlpd}, {@code tracelog},
     * {@code profilerj} or {@code trail}; null for the format in the agent's options
     */
    public static Result start(String file, String format) {
        return call(START, file, format, 0);
    }

    /**
     * Ends the trace. When this method returns, the trace has everything that this thread did
     * before the call, and nothing that the thread does later.
     */
    public static Result stop() {
        return call(STOP, null, null, 0);
    }

    /** Records nothing until {@link #resume} is called. The trace stays open. */
    public static Result pause() {
        return call(PAUSE, null, null, 0);
    }

    /** Resumes recording in a paused trace. */
    public static Result resume() {
        return call(RESUME, null, null, 0);
    }

    /**
     * Records for a while. A paused trace is resumed for that time and then pauses again. Without a
     * trace, the burst gets a trace of its own, which ends with the burst.
     */
    public static Result burst(Duration time) {
        long nanos;
        try {
            nanos = time == null ? 0 : time.toNanos();
        } catch (ArithmeticException e) {
            nanos = time.isNegative() ? 0 : Long.MAX_VALUE; // 292 years
        }
        return call(BURST_TIME, null, null, nanos);
    }

    /** Like {@link #burst(Duration)}, but the burst ends after a number of events. */
    public static Result burst(long events) {
        return call(BURST_EVENTS, null, null, events);
    }

    /**
     * Writes a text of at most 4096 bytes in UTF-8 into the trace. In the trace, everything that
     * this thread did before the call precedes the text, and everything that the thread does later
     * follows.
     */
    public static Result mark(String text) {
        return call(MARK, text, null, 0);
    }

    /** Returns true if there is a trace that is not paused. */
    public static boolean isActive() {
        if (!bound) {
            return false;
        }
        try {
            return recording();
        } catch (UnsatisfiedLinkError e) {
            return false; // the agent has just detached
        }
    }

    private static Result call(int what, String text, String more, long number) {
        if (!bound) {
            return Result.NO_AGENT;
        }
        try {
            String problem = command(what, text, more, number);
            return problem == null ? Result.DONE : new Result(problem);
        } catch (UnsatisfiedLinkError e) {
            return Result.NO_AGENT; // the agent has just detached
        }
    }

    /** Runs a command. Returns null if it was done, otherwise the reason why not. */
    private static native String command(int what, String text, String more, long number);

    private static native boolean recording();
}
