package harness;

/**
 * tableswitch and lookupswitch with every padding, switches on strings, and long and double values
 * everywhere.
 */
public final class Switches {
    static int table(int n) {
        switch (n) {
            case -1:
                return 5;
            case 0:
            case 1:
                return 6;
            case 2:
                n++;
            case 3:
                n++;
                break;
            case 4:
                throw new IllegalArgumentException();
            default:
                return n;
        }
        return n * 2;
    }

    static int lookup(int n) {
        switch (n) {
            case Integer.MIN_VALUE:
                return 1;
            case -1000:
                return 2;
            case 17:
                return 3;
            case 100000:
                return 4;
            case Integer.MAX_VALUE:
                return 5;
        }
        return 0;
    }

    // The padding depends on the position of the instruction in the method.
    static int pad0(int n) {
        switch (n) { case 0: return 1; case 1: return 2; default: return 0; }
    }

    static int pad1(int a, int n) {
        a++;
        switch (n) { case 0: return a; case 1: return 2; default: return 0; }
    }

    static int pad2(int a, int n) {
        a = -a;
        switch (n) { case 0: return a; case 500: return 2; default: return 0; }
    }

    static long pad3(long a, int n) {
        a = a + a + 1;
        switch (n) { case 0: return a; case 500: return 2; default: return 0; }
    }

    static int text(String s) {
        switch (s) {
            case "Aa":
                return 1;
            case "BB": // the same hash code as "Aa"
                return 2;
            case "":
                return 3;
            default:
                return 4;
        }
    }

    static double mixed(long a, double b, int c, long d, float e, double f) {
        for (long i = a; i < d; i += c) {
            double x = i * b;
            if (x > f) {
                return x + e;
            }
            long y = (long) x ^ i;
            b += y % 3 == 0 ? 0.5 : -0.25;
        }
        return b;
    }

    static int inLoop(int n) {
        int state = 0;
        int steps = 0;
        while (true) {
            switch (state) {
                case 0:
                    state = n % 2 == 0 ? 1 : 2;
                    break;
                case 1:
                    n /= 2;
                    state = 0;
                    break;
                case 2:
                    if (n == 1) {
                        return steps;
                    }
                    n = 3 * n + 1;
                    state = 0;
                    break;
                default:
                    throw new AssertionError();
            }
            steps++;
        }
    }

    public static void main(String[] args) {
        int n = 70;
        double sum = 0;
        int failed = 0;
        int[] keys = {Integer.MIN_VALUE, -1000, 17, 100000, Integer.MAX_VALUE, 0, 16, 18};
        String[] texts = {"Aa", "BB", "", "C", "AaAa"};
        for (int i = 0; i < n; i++) {
            try {
                sum += table(i % 7 - 1);
            } catch (IllegalArgumentException e) {
                failed++;
            }
            sum += lookup(keys[i % keys.length]) + text(texts[i % texts.length]);
            sum += pad0(i % 3) + pad1(i, i % 3) + pad2(i, i % 2 * 500) + pad3(i, i % 2 * 500);
            sum += mixed(0, 1.5, 3, i * 10L, 0.5f, 500) + inLoop(i + 1);
        }
        System.out.println("sum " + sum + " failed " + failed);

        Expect.Of main = Expect.program("harness.Switches");
        main.count("table(I)I", n).count("lookup(I)I", n).count("text(Ljava/lang/String;)I", n);
        main.count("pad0(I)I", n).count("pad1(II)I", n).count("pad2(II)I", n).count("pad3(JI)J", n);
        main.count("mixed(JDIJFD)D", n).count("inLoop(I)I", n);
        Expect.print();
    }
}
