package harness;

import java.util.function.IntUnaryOperator;

/**
 * Hits of source lines. A line's hits are the executions of the first instructions of all its
 * entries in the line table. A number at the end of a line is the distance from the line of
 * {@link #base}, and {@link #expect} uses these numbers. So no line may be added between these
 * lines.
 */
public final class Lines {
    static int base() { return ExpectEvents.here(); } // 0

    static int loops(int n) { // 2
        int sum = 0;
        for (int i = 0; i < n; i++) { // 4: once, and each step
            sum += i;
        }
        int left = n; // 7
        while (left > 0) { // 8: each test
            left--;
        }
        do { // no entry: the body has one
            left++;
        } while (left < n); // 13: each test
        for (int i = 0; i < n; i++) sum += i; // 14: a loop on one line has one entry
        outer:
        for (int i = 0; i < n; i++) { // 16
            for (int j = 0; j < n; j++) { // 17
                if (j == i) { // 18
                    continue outer; // 19
                }
                if (i == 3) { // 21
                    break outer; // 22
                }
            }
        }
        for (int each : new int[] {1, 2, 3}) { // 26
            sum += each;
        }
        return sum; // 29
    }

    static int choices(int n) { // 32
        int result;
        if (n % 2 == 0) { // 34
            result = 1;
        } else if (n % 3 == 0) { // 36
            result = 2;
        } else {
            result = 3; // 39
        }
        switch (n % 4) { // 41
            case 0: // no code
                result += 1; // 43
            case 1:
                result += 2; // 45: also after 43
                break;
            case 2:
                return result; // 48
            default:
                result += 4; // 50
        }
        return n > 5 // 52
                ? result // 53
                : -result; // 54
    }

    static int attempts(int n) throws Exception { // 57
        int sum = 0;
        try { // no entry
            sum += mayFail(n); // 60
            sum += 1; // 61
        } catch (IllegalStateException e) { // 62
            sum += 2;
        } finally {
            sum += 3; // 65: three copies of the code
        }
        return sum; // 67
    }

    static int mayFail(int n) throws Exception { // 70
        if (n % 3 == 1) {
            throw new IllegalStateException(); // 72
        }
        if (n % 3 == 2) { // 74
            throw new Exception(); // 75
        }
        return n; // 77
    }

    static int guarded(Object lock, int n) { // 80
        int sum = n;
        synchronized (lock) { // 82
            sum++; // 83
        } // 84
        return sum; // 85
    }

    static void nothing(int n) { // 88
        if (n == 0) { // 89
            return; // 90
        }
        sink = n; // 92
    } // 93

    static int sink;
    static int[] table = {1, 2}; // 96: in the class initialiser
    int field = 5; // 97: in the constructor

    Lines(int n) { // 99: the call of super; the end has its own line
        this.field += n; // 100
    } // 101

    static int recursive(int n) { // 103
        if (n == 0) { // 104
            return 0; // 105
        }
        return 1 + recursive(n - 1); // 107
    }

    static int lambdas(int n) { // 110
        IntUnaryOperator twice = i -> { // 111
            int result = 2 * i; // 112: a method of its own
            return result; // 113
        };
        int sum = 0; // 115
        for (int i = 0; i < n; i++) { // 116
            sum += twice.applyAsInt(i); // 117
        }
        return sum; // 119
    }

    /** Runs long enough to be compiled meanwhile. */
    static long hot(int n) { // 123
        long sum = 0;
        for (int i = 0; i < n; i++) { // 125
            if ((i & 3) == 0) { // 126
                sum += i; // 127
            }
        }
        return sum; // 130
    }

    static int never(int n) { // 133
        return n + 1;
    }

    public static void main(String[] args) throws Exception {
        int sum = loops(5);
        for (int i = 0; i < 12; i++) {
            sum += choices(i);
        }
        for (int i = 0; i < 9; i++) {
            try {
                sum += attempts(i);
            } catch (Exception e) {
                sum++;
            }
        }
        for (int i = 0; i < 4; i++) {
            sum += guarded(table, i);
            nothing(i);
            sum += new Lines(i).field;
        }
        sum += recursive(10) + lambdas(6);
        System.out.println("sum " + sum + " hot " + hot(100_000));
        expect();
        Expect.print();
    }

    private static int base;
    private static String method;

    static void method(String name, long calls) {
        method = "harness.Lines." + name;
        if (calls > 0) {
            Expect.of("harness.Lines").count(name, calls);
        }
    }

    static void line(int offset, long n) {
        ExpectEvents.line(method, base + offset, n);
    }

    /** Expects the hits of all lines of each method, including those that are never reached. */
    static void expect() {
        base = base();
        method("base()I", 1);
        line(0, 1);

        int n = 5;
        method("loops(I)I", 1);
        line(3, 1);
        line(4, 1 + n);
        line(5, n);
        line(7, 1);
        line(8, n + 1);
        line(9, n);
        line(12, n);
        line(13, n);
        line(14, 1);
        // Rows 0, 1 and 2 end at the diagonal. Row 3 ends the loops at its first column.
        line(16, 1 + 3);
        line(17, 4 + (0 + 1 + 2));
        line(18, (1 + 2 + 3) + 1);
        line(19, 3);
        line(21, (0 + 1 + 2) + 1);
        line(22, 1);
        line(26, 1 + 3);
        line(27, 3);
        line(29, 1);

        // Of 0 to 11, six are even, 3 and 9 are odd multiples of three, and 1, 5, 7 and 11 are
        // neither.
        method("choices(I)I", 12);
        line(34, 12);
        line(35, 6);
        line(36, 6);
        line(37, 2);
        line(39, 4);
        line(41, 12);
        line(43, 3);
        line(45, 6);
        line(46, 6);
        line(48, 3);
        line(50, 3);
        // Lines 52 to 54: of the nine numbers that get there, 7, 8, 9 and 11 are above 5.
        line(52, 9 + 9); // before the choice, and for the return after it
        line(53, 4);
        line(54, 5);

        // Of 0 to 8, three numbers cause no exception, three cause one that is caught, and three
        // cause one that passes through.
        method("attempts(I)I", 9);
        line(58, 9);
        line(60, 9);
        line(61, 3);
        line(62, 3);
        line(63, 3);
        line(65, 9);
        line(66, 9);
        line(67, 6);
        method("mayFail(I)I", 9);
        line(71, 9);
        line(72, 3);
        line(74, 6);
        line(75, 3);
        line(77, 3);

        method("guarded(Ljava/lang/Object;I)I", 4);
        line(81, 4);
        line(82, 4);
        line(83, 4);
        line(84, 4);
        line(85, 4);
        method("nothing(I)V", 4);
        line(89, 4);
        line(90, 1);
        line(92, 3);
        line(93, 3);
        method("<clinit>()V", 1);
        line(96, 1);
        method("<init>(I)V", 4);
        line(97, 4);
        line(99, 4);
        line(100, 4);
        line(101, 4);

        method("recursive(I)I", 11);
        line(104, 11);
        line(105, 1);
        line(107, 10);
        method("lambdas(I)I", 1);
        line(111, 1);
        line(115, 1);
        line(116, 1 + 6);
        line(117, 6);
        line(119, 1);
        method("lambda$lambdas$0(I)I", 6);
        line(112, 6);
        line(113, 6);

        method("hot(I)J", 1);
        line(124, 1);
        line(125, 1 + 100_000);
        line(126, 100_000);
        line(127, 25_000);
        line(130, 1);
        method("never(I)I", 0);
        line(134, 0);

        method("main([Ljava/lang/String;)V", 1);
        method("expect()V", 1);
    }
}
