import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.ObjIntConsumer;

/**
 * Eight threads that make calls until they are killed. Each thread writes the number of its calls
 * that have returned into a file that outlives it. Prints [ready] when all threads make calls.
 */
public final class Tally {
    static final int THREADS = 8;
    static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    static volatile int ready;
    static int[] sinks = new int[THREADS * 32];

    public static void main(String[] args) throws Exception {
        start(Path.of(args[0]), "tally-", THREADS, Tally::run);
    }

    /** Starts threads that write into the file. Prints [ready] when all of them are ready. */
    static void start(Path path, String name, int threads, ObjIntConsumer<MappedByteBuffer> run) throws Exception {
        FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        MappedByteBuffer tally = file.map(FileChannel.MapMode.READ_WRITE, 0, 64 * threads);
        for (int i = 0; i < threads; i++) {
            int number = i;
            new Thread(() -> run.accept(tally, number), name + i).start();
        }
        while (ready < threads) {
            Thread.sleep(1);
        }
        System.out.println("[ready]");
    }

    static synchronized void isReady() {
        ready++;
    }

    static void run(MappedByteBuffer tally, int number) {
        for (long calls = 1; ; calls++) {
            sinks[number * 32] = call((int) calls);
            LONGS.setRelease(tally, 64 * number, calls);
            if (calls == 1000) {
                isReady();
            }
        }
    }

    static int call(int n) {
        return n + 1;
    }
}
