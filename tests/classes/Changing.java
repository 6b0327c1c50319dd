public class Changing {
    static String answer() { return BODY; }
    static String first() { return "first"; }
    static String second() { return "2nd"; }
}
