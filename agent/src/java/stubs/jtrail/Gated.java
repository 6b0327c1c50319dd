package jtrail;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/**
 * Marks a method of the hook class for which the build generates a twin: {@code burstEnter} for
 * {@code enter}. The twin returns at once while the gate is closed.
 */
@Retention(RetentionPolicy.SOURCE)
public @interface Gated {
}
