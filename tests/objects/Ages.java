public class Ages {
    static final class Lived0 {}
    static final class Lived1 {}
    static final class Lived2 {}
    static final class Lived3 {}
    static final class Late0 {}
    static final class Late2 {}

    static Object[] held = new Object[4];
    static Object late;

    static void make() {
        Object[] zero = new Object[10], one = new Object[10], two = new Object[10], three = new Object[10];
        for (int i = 0; i < 10; i++) {
            zero[i] = new Lived0();
            one[i] = new Lived1();
            two[i] = new Lived2();
            three[i] = new Lived3();
        }
        held = new Object[] {zero, one, two, three};
    }

    static void makeLate() {
        new Late0();
        late = new Late2();
    }

    static void collect() throws Exception {
        System.gc();
        Thread.sleep(400);
    }

    public static void main(String[] args) throws Exception {
        make();
        for (int i = 0; i < 4; i++) {
            held[i] = null;
            if (i == 1) {
                makeLate();
            }
            if (i == 3) {
                late = null;
            }
            collect();
        }
    }
}
