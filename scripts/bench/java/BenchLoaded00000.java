import java.util.function.IntUnaryOperator;

/**
 * The class that BenchJvm loads under many names: for each, it replaces the digits in the class
 * file.
 */
class BenchLoaded00000 implements IntUnaryOperator {
    int field0, field1, field2, field3, field4, field5, field6, field7, field8, field9;

    static int method0(int x) { return x * 0 + 1; }
    static int method1(int x) { return x * 1 + 1; }
    static int method2(int x) { return x * 2 + 1; }
    static int method3(int x) { return x * 3 + 1; }
    static int method4(int x) { return x * 4 + 1; }
    static int method5(int x) { return x * 5 + 1; }
    static int method6(int x) { return x * 6 + 1; }
    static int method7(int x) { return x * 7 + 1; }
    static int method8(int x) { return x * 8 + 1; }
    static int method9(int x) { return x * 9 + 1; }
    static int method10(int x) { return x * 10 + 1; }
    static int method11(int x) { return x * 11 + 1; }
    static int method12(int x) { return x * 12 + 1; }
    static int method13(int x) { return x * 13 + 1; }
    static int method14(int x) { return x * 14 + 1; }
    static int method15(int x) { return x * 15 + 1; }
    static int method16(int x) { return x * 16 + 1; }
    static int method17(int x) { return x * 17 + 1; }

    @Override
    public int applyAsInt(int x) {
        return method0(x) + method1(x) + method2(x) + method3(x) + method4(x) + method5(x)
                + method6(x) + method7(x) + method8(x) + method9(x) + method10(x) + method11(x)
                + method12(x) + method13(x) + method14(x) + method15(x) + method16(x) + method17(x);
    }
}
