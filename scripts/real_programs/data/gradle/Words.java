import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public final class Words {
    public static Map<String, Long> count(String text) {
        return Stream.of(text.split(" ")).collect(Collectors.groupingBy(word -> word, TreeMap::new, Collectors.counting()));
    }
}
