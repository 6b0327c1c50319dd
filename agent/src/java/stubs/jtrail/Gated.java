package jtrail;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Marks a method of the hook class that the build gives a twin which stops at the gate: {@code burstEnter} for {@code enter}. */
@Retention(RetentionPolicy.SOURCE)
public @interface Gated {
}
