public class Churn {
    static byte[] last;
    static byte[][] held;

    public static void main(String[] args) {
        for (int i = 0; i < 20; i++) {
            held = new byte[i * 3 % 8 * 256][4096];
            for (int k = 0; k < 1500; k++) {
                last = new byte[4096];
            }
            System.gc();
        }
    }
}
