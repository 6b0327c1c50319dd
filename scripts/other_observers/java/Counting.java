import java.util.Map;
import java.util.TreeMap;
import org.aspectj.lang.JoinPoint;
import org.aspectj.lang.annotation.AfterReturning;
import org.aspectj.lang.annotation.AfterThrowing;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;

/**
 * Advice for all that happens in Observed. Prints at the end how often each kind happened in each
 * method.
 */
@Aspect
public class Counting {
    static final Map<String, Integer> COUNTS = new TreeMap<>();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(
                () -> COUNTS.forEach((what, count) -> System.err.println("@ " + what + " " + count))));
    }

    static synchronized void count(String kind, JoinPoint point) {
        COUNTS.merge(kind + " " + point.getSignature().getName(), 1, Integer::sum);
    }

    @Before(value = "execution(* Observed.*(..))", argNames = "point")
    public void before(JoinPoint point) {
        count("before", point);
    }

    @AfterReturning(value = "execution(* Observed.*(..))", argNames = "point")
    public void returning(JoinPoint point) {
        count("returning", point);
    }

    @AfterThrowing(value = "execution(* Observed.*(..))", argNames = "point")
    public void throwing(JoinPoint point) {
        count("throwing", point);
    }

    @Before(value = "call(* Observed.*(..))", argNames = "point")
    public void call(JoinPoint point) {
        count("call", point);
    }

    @Before(value = "within(Observed) && handler(*)", argNames = "point")
    public void handler(JoinPoint point) {
        count("handler", point);
    }
}
