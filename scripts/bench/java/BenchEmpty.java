/** Does nothing. */
public class BenchEmpty {
    public static void main(String[] args) {}
}
