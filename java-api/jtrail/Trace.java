package jtrail;

import java.time.Duration;

/**
 * The trace that the jtrail agent records of this program.
 *
 * <p>Without the agent, all methods do nothing. They never throw: a program must not fail because it can't be traced. What
 * became of a call is its {@link Result}, which may be ignored. They may be called from any thread.
 *
 * <p>The program may begin and end traces, pause them and record bursts if the agent was loaded with {@code server=application}; it
 * may {@link #mark} and ask whether a trace {@linkplain #isActive is recorded} in any case.
 */
public final class Trace {
    /** What became of a call. */
    public static final class Result {
        static final Result DONE = new Result(null);
        static final Result NO_AGENT = new Result("there is no agent");

        private final String problem;

        Result(String problem) {
            this.problem = problem;
        }

        /** Whether it was done. */
        public boolean isDone() {
            return problem == null;
        }

        /** Why it was not done, as a short sentence; empty if it was. */
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

    /** Set by an agent when it has bound the native methods, also by one that comes late; and taken back when it leaves. */
    private static volatile boolean bound;

    private Trace() {
    }

    /** Begins a trace, as the agent's options say. */
    public static Result start() {
        return start(null, null);
    }

    /** Begins a trace into a file of that name, in the format of the agent's options. */
    public static Result start(String file) {
        return start(file, null);
    }

    /**
     * Begins a trace. Calls that are open now are not in it.
     *
     * @param file its name, in which {@code %p}, {@code %t}, {@code %h} and {@code %%} have the meaning that the agent's option
     *     {@code file} gives them; null for the name that the options give, with a number if there is such a file
     * @param format {@code xml}, {@code binary}, {@code jinsight}, {@code mlpd}, {@code tracelog}, {@code profilerj} or
     *     {@code trail}; null for that of the options
     */
    public static Result start(String file, String format) {
        return call(START, file, format, 0);
    }

    /** Ends the trace. All that this thread did before is in it when this returns, and nothing that it does later. */
    public static Result stop() {
        return call(STOP, null, null, 0);
    }

    /** Records nothing until {@link #resume}; the trace stays open. */
    public static Result pause() {
        return call(PAUSE, null, null, 0);
    }

    /** Records again. */
    public static Result resume() {
        return call(RESUME, null, null, 0);
    }

    /**
     * Records for a while: in the trace that is paused, which then pauses again, or without one in a trace of its own, which then
     * ends.
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

    /** As {@link #burst(Duration)}, for so many events. */
    public static Result burst(long events) {
        return call(BURST_EVENTS, null, null, events);
    }

    /** Writes a text into the trace, of at most 4096 bytes in UTF-8. It stands between what this thread did before and does later. */
    public static Result mark(String text) {
        return call(MARK, text, null, 0);
    }

    /** Whether there is a trace, and it is not paused. */
    public static boolean isActive() {
        if (!bound) {
            return false;
        }
        try {
            return recording();
        } catch (UnsatisfiedLinkError e) {
            return false; // the agent has just left
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
            return Result.NO_AGENT; // it has just left
        }
    }

    /** Null if it was done. */
    private static native String command(int what, String text, String more, long number);

    private static native boolean recording();
}
