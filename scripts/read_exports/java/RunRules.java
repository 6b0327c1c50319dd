import java.io.File;
import java.util.Map;
import java.util.concurrent.Future;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;

/**
 * Loads a recording into JDK Mission Control and runs all rules. Prints types with numbers of
 * events, and rules with the severity of their results, with tabs between them.
 */
public class RunRules {
    public static void main(String[] args) throws Exception {
        IItemCollection items = JfrLoaderToolkit.loadEvents(new File(args[0]));
        for (IItemIterable events : items) {
            String type = events.getType().getIdentifier();
            System.out.println("events\t" + type + "\t" + events.getItemCount());
        }
        Map<IRule, Future<IResult>> results =
            RulesToolkit.evaluateParallel(RuleRegistry.getRules(), items, null, 1);
        for (Map.Entry<IRule, Future<IResult>> result : results.entrySet()) {
            // A rule that fails throws from here.
            String severity = result.getValue().get().getSeverity().toString();
            System.out.println("rule\t" + result.getKey().getId() + "\t" + severity);
        }
    }
}
