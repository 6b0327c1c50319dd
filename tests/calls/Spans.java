public class Spans {
    static long spin(long nanos) {
        long start = System.nanoTime();
        long now = start;
        while (now - start < nanos) {
            now = System.nanoTime();
        }
        return now - start;
    }

    static long shortCall() {
        return spin(20_000);
    }

    static long longCall() {
        return spin(3_000_000);
    }

    public static void main(String[] args) {
        long shorts = 0;
        for (int i = 0; i < 100; i++) {
            for (int k = 0; k < 100; k++) {
                shorts += shortCall();
            }
            System.out.println("long " + longCall());
        }
        System.out.println("shorts " + shorts);
    }
}
