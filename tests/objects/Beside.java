/**
 * Big objects between small ones. Many big ones don't fit into the rest of the thread's allocation
 * buffer, and are allocated outside of it.
 */
public class Beside {
    static final class Small {
        int figure;
    }

    static final class Big {
        final byte[] bytes;

        Big(int size) {
            bytes = new byte[size];
        }
    }

    static volatile Object last;

    public static void main(String[] args) {
        java.util.Random random = new java.util.Random(1);
        for (int i = 0; i < 2000; i++) {
            last = new Big(16 << random.nextInt(13));
            for (int k = 0; k < 40; k++) {
                last = new Small();
            }
        }
    }
}
