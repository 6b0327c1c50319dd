/**
 * Eight methods that spin for 5 ns to 5 ms. Each is called in a loop of its own, so often that all
 * loops take about the same time. Without arguments, the program prints how many turns of a spin
 * take a nanosecond. With that number as the property `turns`, and a number of rounds as the
 * argument, it prints the total time of each loop in ns.
 */
public class BenchSpins {
    private static final String[] NAMES = {"ns5", "ns20", "ns100", "us1", "us10", "us100", "ms1", "ms5"};
    private static final long[] TOOK = new long[NAMES.length];
    private static long sink = 1;

    private static final int NS5 = turns(5);
    private static final int NS20 = turns(20);
    private static final int NS100 = turns(100);
    private static final int US1 = turns(1_000);
    private static final int US10 = turns(10_000);
    private static final int US100 = turns(100_000);
    private static final int MS1 = turns(1_000_000);
    private static final int MS5 = turns(5_000_000);

    private static int turns(int ns) {
        return Math.max(1, (int) (ns * Double.parseDouble(System.getProperty("turns", "1"))));
    }

    static void ns5() {
        long x = sink;
        for (int i = 0; i < NS5; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_ns5() {
        for (int i = 0; i < 1_000_000; i++) ns5();
    }

    static void ns20() {
        long x = sink;
        for (int i = 0; i < NS20; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_ns20() {
        for (int i = 0; i < 250_000; i++) ns20();
    }

    static void ns100() {
        long x = sink;
        for (int i = 0; i < NS100; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_ns100() {
        for (int i = 0; i < 50_000; i++) ns100();
    }

    static void us1() {
        long x = sink;
        for (int i = 0; i < US1; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_us1() {
        for (int i = 0; i < 5_000; i++) us1();
    }

    static void us10() {
        long x = sink;
        for (int i = 0; i < US10; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_us10() {
        for (int i = 0; i < 500; i++) us10();
    }

    static void us100() {
        long x = sink;
        for (int i = 0; i < US100; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_us100() {
        for (int i = 0; i < 50; i++) us100();
    }

    static void ms1() {
        long x = sink;
        for (int i = 0; i < MS1; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_ms1() {
        for (int i = 0; i < 5; i++) ms1();
    }

    static void ms5() {
        long x = sink;
        for (int i = 0; i < MS5; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void loop_ms5() {
        for (int i = 0; i < 1; i++) ms5();
    }

    private static void round(boolean counts) {
        long began;
        began = System.nanoTime();
        loop_ns5();
        if (counts) TOOK[0] += System.nanoTime() - began;
        began = System.nanoTime();
        loop_ns20();
        if (counts) TOOK[1] += System.nanoTime() - began;
        began = System.nanoTime();
        loop_ns100();
        if (counts) TOOK[2] += System.nanoTime() - began;
        began = System.nanoTime();
        loop_us1();
        if (counts) TOOK[3] += System.nanoTime() - began;
        began = System.nanoTime();
        loop_us10();
        if (counts) TOOK[4] += System.nanoTime() - began;
        began = System.nanoTime();
        loop_us100();
        if (counts) TOOK[5] += System.nanoTime() - began;
        began = System.nanoTime();
        loop_ms1();
        if (counts) TOOK[6] += System.nanoTime() - began;
        began = System.nanoTime();
        loop_ms5();
        if (counts) TOOK[7] += System.nanoTime() - began;
    }

    private static void calibrate() {
        double best = 0;
        for (int k = 0; k < 20; k++) {
            long began = System.nanoTime();
            long x = sink;
            for (int i = 0; i < 10_000_000; i++) x = x * 6364136223846793005L + 1442695040888963407L;
            sink = x;
            best = Math.max(best, 1e7 / (System.nanoTime() - began));
        }
        System.out.println(best);
    }

    public static void main(String[] args) {
        if (args.length == 0) {
            calibrate();
            return;
        }
        int rounds = Integer.parseInt(args[0]);
        for (int i = 0; i < 5; i++) round(false);
        for (int i = 0; i < rounds; i++) round(true);
        for (int i = 0; i < NAMES.length; i++) System.out.println(NAMES[i] + " " + TOOK[i]);
    }
}
