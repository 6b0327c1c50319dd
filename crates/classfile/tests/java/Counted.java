import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.IntUnaryOperator;

/**
 * Programs with known counts. A comment {@code //=} at the end of a line says how often the line's
 * bytecode begins to run. {@code + what times amount} after that says what the line allocates. The
 * amount is the sum of the lengths of one-dimensional arrays; for an array of arrays, it is the
 * number of arrays.
 */
public class Counted { //= 0
    static int work; //= 0
    static final int[] TABLE = {1, 2, 3}; //= 1 + I 1 3

    static void empty() {} //= 2

    static void forLoop() {
        for (int i = 0; i < 4; i++) //= 5
            work += i; //= 4
    } //= 1

    /** The jump at the end of the loop leads to the method's first instruction. */
    static void whileLoop(int[] left) {
        while (left[0] > 0) //= 4
            left[0]--; //= 3
    } //= 1

    static void doLoop(int n) {
        do { //= 0
            work++; //= 3
        } while (--n > 0); //= 3
    } //= 1

    static int forever(int n) {
        for (;;) { //= 0
            if (--n < 0) //= 4
                return n; //= 1
        }
    }

    static void nested() {
        for (int i = 0; i < 3; i++) //= 4
            for (int j = 0; j < 2; j++) { //= 9
                if (j == i) continue; //= 6
                work++; //= 4
            }
    } //= 1

    static int choose(int n) {
        switch (n) { //= 5
            case 1:
                work++; //= 1
                break; //= 1
            case 2:
                work += 2; //= 2
            case 1000:
                work += 3; //= 3
                break; //= 3
            default:
                return 7; //= 1
        }
        return work; //= 4
    }

    static int fails(int n) {
        if (n > 1) //= 3
            throw new IllegalStateException(); //= 2 + java/lang/IllegalStateException 2
        return n; //= 1
    }

    static int tryFinally(int n) {
        try {
            return fails(n); //= 3
        } catch (IllegalStateException e) { //= 1
            return -1; //= 2
        } finally {
            work++; //= 2
        } //= 0
    }

    static int ternaries(int n) {
        return n > 2 //= 6
            ? n > 3 //= 2
                ? work //= 1
                : -work //= 1
            : n; //= 1
    }

    static int lambdas() {
        IntUnaryOperator twice = n -> n * 2; //= 3
        IntSupplier sum = () -> { //= 1
            int total = 0; //= 1
            for (int n : TABLE) //= 4
                total += n; //= 3
            return total; //= 1
        };
        return twice.applyAsInt(1) //= 2
            + twice.applyAsInt(2) //= 1
            + sum.getAsInt(); //= 1
    }

    static class Base { //= 0
        final int n;

        Base(int n) { //= 3
            this.n = n; //= 3
        } //= 3
    }

    static class Fields extends Base { //= 0
        int one = 1; //= 2
        int[] many = new int[one]; //= 2 + I 2 2
        List<String> list = new ArrayList<>(); //= 2 + java/util/ArrayList 2

        Fields(int n) {
            super( //= 4
                n > 0 //= 2
                    ? n //= 2
                    : -1); //= 0
            one += n; //= 2
        } //= 2

        Fields() {
            this(1); //= 1
            list.add(""); //= 1
        } //= 1
    }

    static void locks(Object lock) {
        synchronized (lock) { //= 2
            work++; //= 2
        } //= 2
        synchronized (lock) {} //= 2
    } //= 2

    static void allocations(int n) {
        Object[] all = new Object[11]; //= 1 + Ljava/lang/Object; 1 11
        all[0] = new Object(); //= 1 + java/lang/Object 1
        all[1] = new byte[n]; //= 1 + B 1 5
        all[2] = new boolean[n + 1]; //= 1 + Z 1 6
        all[3] = new char[] {'a', 'b'}; //= 1 + C 1 2
        all[4] = new short[0]; //= 1 + S 1 0
        all[5] = new long[2]; //= 1 + J 1 2
        all[6] = new float[3]; //= 1 + F 1 3
        all[7] = new double[4]; //= 1 + D 1 4
        all[8] = new String[n][]; //= 1 + [Ljava/lang/String; 1 5
        all[9] = new int[2][n]; //= 1 + [[I 1 3
        all[10] = new String[2][n][3][]; //= 1 + [[[[Ljava/lang/String; 1 13
        for (int i = 0; i < all.length; i++) //= 12
            all[i] = new Base[i].length > 5 ? new StringBuilder().append(i) : null; //= 11 + LCounted$Base; 11 55 + java/lang/StringBuilder 5
    } //= 1

    static class Copied implements Cloneable { //= 1
        Object copy() throws CloneNotSupportedException {
            return super.clone(); //= 2 + call 2 2
        }

        Object copied() throws CloneNotSupportedException {
            return clone(); //= 1
        }
    }

    /** Calls that create objects, and a call of a clone() that the class itself declares. */
    static void madeByCalls(int n) throws Exception {
        Copied original = new Copied(); //= 1 + Counted$Copied 1
        original.copy(); //= 1
        original.copy(); //= 1
        original.copied(); //= 1
        new java.util.ArrayList<>().clone(); //= 1 + java/util/ArrayList 1
        int[][] arrays = {{1}, {2}}; //= 1 + [I 1 2 + I 2 2
        work += arrays.clone().length; //= 1 + call 1 1
        work += java.lang.reflect.Array.getLength(java.lang.reflect.Array.newInstance(int.class, n)); //= 1 + call 1 1
        work += ((Object[]) java.lang.reflect.Array.newInstance(int.class, 2, n)).length; //= 1 + I 1 2 + calls 1 3
        work += java.util.Arrays.copyOf(arrays, 7, Object[].class).length; //= 1 + call 1 1
        work += java.util.Arrays.copyOfRange(arrays, 0, 1, Object[].class).length; //= 1 + call 1 1
    } //= 1

    /** An object that is not initialised yet stays on the stack across a branch. */
    static String carried(int n) {
        return new String( //= 4 + java/lang/String 2
            n > 0 //= 2
                ? new char[n] //= 1 + C 1 3
                : "none".toCharArray()); //= 1
    }

    static int failedAllocations(int n) {
        try {
            return new int[n].length; //= 2 + I 1 4
        } catch (NegativeArraySizeException e) { //= 1
            return 0; //= 1
        }
    }

    public static void main(String[] args) throws Exception {
        empty(); //= 1
        empty(); //= 1
        forLoop(); //= 1
        whileLoop(new int[] {3}); //= 1 + I 1 1
        doLoop(3); //= 1
        forever(3); //= 1
        nested(); //= 1
        for (int n : new int[] {1, 2, 2, 1000, 3}) choose(n); //= 1 + I 1 5
        try {
            tryFinally(1); //= 1
            tryFinally(2); //= 1
            fails(9); //= 1
        } catch (IllegalStateException e) { //= 1
            work--; //= 1
        }
        ternaries(2); //= 1
        ternaries(3); //= 1
        ternaries(4); //= 1
        lambdas(); //= 1
        madeByCalls(3); //= 1
        new Base(0); //= 1 + Counted$Base 1
        new Fields(); //= 1 + Counted$Fields 1
        new Fields(2); //= 1 + Counted$Fields 1
        locks(new Object()); //= 1 + java/lang/Object 1
        locks(args); //= 1
        allocations(5); //= 1
        carried(0); //= 1
        carried(3); //= 1
        failedAllocations(4); //= 1
        failedAllocations(-1); //= 1
        Counter.print(); //= 1
    } //= 0
}
