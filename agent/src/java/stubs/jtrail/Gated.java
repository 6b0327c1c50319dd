package jtrail;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/**
 * Marks a method of the hook class for which the build generates a twin that returns at once while
 * the gate is closed: {@code burstEnter} for {@code enter}.
 */
@Retention(RetentionPolicy.SOURCE)
public @interface Gated {
}
