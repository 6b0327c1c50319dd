package harness;

import assembler.ClassBytes;
import assembler.Code;
import assembler.Loader;
import java.util.Arrays;

/**
 * Methods at the limits of the class file: code near 64 KiB, branches as far as they reach, 255
 * arguments, wide locals, full tables. If a rewriter cannot add anything without exceeding a limit,
 * the expected count is a LIMIT: the trace has exactly this count, or reports that the method is
 * not instrumented.
 */
public final class Limits {
    private static final Expect.Of MAIN = Expect.program("harness.Limits");
    private static final Loader LOADER = new Loader(Limits.class.getClassLoader());
    private static final String INT = "(I)I";
    private static final int[] ONE_INT = {Code.INT};

    /**
     * Defines the class, calls its run(int) three times and prints the last result. Returns the
     * counts of the class.
     */
    private static Expect.Of run(ClassBytes bytes, String name) throws Exception {
        Class<?> type = LOADER.define(bytes.toBytes());
        Object result = null;
        for (int i = 0; i < 3; i++) {
            result = type.getMethod("run", int.class).invoke(null, 5);
        }
        System.out.println(name + " " + result);
        MAIN.count("run(Lassembler/ClassBytes;Ljava/lang/String;)Lharness/Expect$Of;", 1);
        return Expect.of(name);
    }

    private static ClassBytes make(int version, String name) {
        MAIN.count("make(ILjava/lang/String;)Lassembler/ClassBytes;", 1);
        return new ClassBytes(version, "harness.made." + name, "java.lang.Object");
    }

    /** Runs straight code of exactly {@code length} bytes. */
    private static void length(int length, boolean limit) throws Exception {
        String name = "Length" + length;
        ClassBytes bytes = make(52, name);
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 2, 1);
        while (code.at() < length - 5) {
            code.op(Code.IINC, 0, 1);
        }
        code.fill(length - 2).op(Code.ILOAD_0, Code.IRETURN);
        Expect.Of expect = run(bytes, "harness.made." + name);
        if (limit) {
            expect.limit("run(I)I", 3);
        } else {
            expect.count("run(I)I", 3);
        }
        MAIN.count("length(IZ)V", 1);
    }

    /**
     * Runs a branch of maximum length, over ten returns. Code before each return would make it too
     * long.
     */
    private static void farBranch(int version) throws Exception {
        String name = "Far" + version;
        ClassBytes bytes = make(version, name);
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 2, 1);
        code.op(Code.ILOAD_0);
        int far = code.branch(Code.IFNE);
        int back = code.at();
        frame(code, version);
        for (int i = 0; i < 10; i++) {
            code.op(Code.ILOAD_0);
            int near = code.branch(Code.IFEQ);
            code.op(Code.ILOAD_0, Code.IRETURN);
            code.land(near);
            frame(code, version);
            code.op(Code.NOP);
        }
        code.fill(far + Short.MAX_VALUE - 2).op(Code.ILOAD_0, Code.IRETURN).land(far);
        frame(code, version);
        // A branch back over the same distance, which is taken once.
        code.op(Code.IINC, 0, 0xff).op(Code.ILOAD_0).branch(Code.IFGT, back);
        code.op(Code.ILOAD_0, Code.IRETURN);
        run(bytes, "harness.made." + name).limit("run(I)I", 3);
        MAIN.count("farBranch(I)V", 1).count("frame(Lassembler/Code;I)V", 12);
    }

    private static void frame(Code code, int version) {
        if (version >= 50) {
            code.frame(ONE_INT);
        }
    }

    /**
     * Runs a method with many returns. If there are thousands, the method has no room for code
     * before each of them.
     */
    private static void manyReturns(int returns, boolean limit) throws Exception {
        String name = "Returns" + returns;
        ClassBytes bytes = make(52, name);
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 2, 1);
        for (int i = 0; i < returns; i++) {
            code.op(Code.ILOAD_0);
            int next = code.branch(Code.IFNE);
            code.op(Code.ILOAD_0, Code.IRETURN);
            code.land(next).frame(ONE_INT);
        }
        code.op(Code.ILOAD_0, Code.IRETURN);
        Expect.Of expect = run(bytes, "harness.made." + name);
        if (limit) {
            expect.limit("run(I)I", 3);
        } else {
            expect.count("run(I)I", 3);
        }
        MAIN.count("manyReturns(IZ)V", 1);
    }

    /**
     * Runs a loop back to the first instruction: the method is entered once, not in each iteration.
     */
    private static void loopToStart(int version) throws Exception {
        String name = "Loop" + version;
        ClassBytes bytes = make(version, name);
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 2, 1);
        frame(code, version);
        code.op(Code.IINC, 0, 0xff).op(Code.ILOAD_0).branch(Code.IFGT, 0);
        code.op(Code.ILOAD_0, Code.IRETURN);
        run(bytes, "harness.made." + name).count("run(I)I", 3);
        MAIN.count("loopToStart(I)V", 1).count("frame(Lassembler/Code;I)V", 1);
    }

    private static void fullPool(int free) throws Exception {
        String name = "Pool" + free;
        ClassBytes bytes = make(52, name);
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 2, 1);
        code.op(Code.ILOAD_0, Code.IRETURN);
        for (int i = 0; bytes.constants() < 65535 - free; i++) {
            bytes.integer(i);
        }
        run(bytes, "harness.made." + name).limit("run(I)I", 3);
        MAIN.count("fullPool(I)V", 1);
    }

    private static void frameSize(int stack, int locals) throws Exception {
        String name = "Size" + stack + "x" + locals;
        ClassBytes bytes = make(52, name);
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, stack, locals);
        code.op(Code.ILOAD_0, Code.IRETURN);
        run(bytes, "harness.made." + name).limit("run(I)I", 3);
        MAIN.count("frameSize(II)V", 1);
    }

    private static void manyHandlers() throws Exception {
        ClassBytes bytes = make(52, "Handlers");
        int type = bytes.type("java/lang/RuntimeException");
        int thrown = bytes.type("java/lang/Throwable");
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 2, 1);
        code.op(Code.ILOAD_0, Code.IRETURN);
        int handler = code.at();
        code.frame(ONE_INT, Code.object(thrown)).op(Code.ATHROW);
        for (int i = 0; i < 65535; i++) {
            code.handler(0, 2, handler, i % 2 == 0 ? type : 0);
        }
        run(bytes, "harness.made.Handlers").limit("run(I)I", 3);
        MAIN.count("manyHandlers()V", 1);
    }

    /**
     * Runs a method that stores and adds up {@code locals} local variables. Stack map frames in the
     * middle name all of them.
     */
    private static void wideLocals(int locals) throws Exception {
        String name = "Locals" + locals;
        ClassBytes bytes = make(52, name);
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 2, locals);
        for (int i = 1; i < locals; i++) {
            code.op(Code.ILOAD_0).local(Code.ISTORE, i);
        }
        int[] types = new int[locals];
        Arrays.fill(types, Code.INT);
        int loop = code.at();
        code.frame(types);
        for (int i = 1; i < locals; i++) {
            code.op(Code.ILOAD_0).local(Code.ILOAD, i).op(Code.IADD).op(Code.ISTORE_0);
        }
        if (locals > 256) {
            code.op(Code.WIDE).op2(Code.IINC, locals - 1).op(0xff, 0xff);
        } else {
            code.op(Code.IINC, locals - 1, 0xff);
        }
        code.local(Code.ILOAD, locals - 1).branch(Code.IFGT, loop);
        code.op(Code.ILOAD_0, Code.IRETURN);
        run(bytes, "harness.made." + name).count("run(I)I", 3);
        MAIN.count("wideLocals(I)V", 1);
    }

    /** Runs methods with as many arguments as possible: 255 words, including this. */
    private static void arguments() throws Exception {
        ClassBytes bytes = make(52, "Arguments");
        String self = "harness/made/Arguments";
        String ints = "(" + "I".repeat(255) + ")I";
        String virtual = "(" + "I".repeat(254) + ")I";
        String longs = "(" + "J".repeat(127) + "I)I";
        bytes.addDefaultConstructor("java/lang/Object");
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "ints", ints, 2, 255);
        code.op(Code.ICONST_0);
        for (int i = 0; i < 255; i++) {
            code.local(Code.ILOAD, i).op(Code.IADD);
        }
        code.op(Code.IRETURN);
        code = bytes.addMethod(ClassBytes.PUBLIC, "virtual", virtual, 2, 255);
        code.local(Code.ILOAD, 1).local(Code.ILOAD, 254).op(Code.IADD, Code.IRETURN);
        code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "longs", longs, 4, 255);
        code.local(Code.LLOAD, 0).local(Code.LLOAD, 252).op(Code.LADD, Code.L2I);
        code.local(Code.ILOAD, 254).op(Code.IADD, Code.IRETURN);
        code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, "run", INT, 257, 1);
        for (int i = 0; i < 255; i++) {
            code.op(Code.ILOAD_0);
        }
        code.op2(Code.INVOKESTATIC, bytes.method(self, "ints", ints)).op(Code.POP);
        for (int i = 0; i < 127; i++) {
            code.op(Code.ILOAD_0, 0x85); // i2l
        }
        code.op(Code.ILOAD_0).op2(Code.INVOKESTATIC, bytes.method(self, "longs", longs)).op(Code.POP);
        code.op2(0xbb, bytes.type(self)).op(0x59); // new, dup
        code.op2(Code.INVOKESPECIAL, bytes.method(self, "<init>", "()V"));
        for (int i = 0; i < 254; i++) {
            code.op(Code.ILOAD_0);
        }
        code.op2(0xb6, bytes.method(self, "virtual", virtual)).op(Code.IRETURN);
        run(bytes, "harness.made.Arguments").count("run(I)I", 3).count("<init>()V", 3)
                .count("ints" + ints, 3).count("virtual" + virtual, 3).count("longs" + longs, 3);
        MAIN.count("arguments()V", 1);
    }

    private static void all() {
        try {
            for (int length : new int[] {65535, 65534, 65530, 65520, 65500}) {
                length(length, true);
            }
            length(65000, false);
            length(32770, false);
            farBranch(49);
            farBranch(52);
            manyReturns(10_000, true);
            manyReturns(1_000, false);
            loopToStart(49);
            loopToStart(52);
            for (int free : new int[] {0, 1, 5, 20}) {
                fullPool(free);
            }
            frameSize(65535, 65535);
            frameSize(65535, 1);
            frameSize(1, 65535);
            frameSize(1, 1);
            manyHandlers();
            wideLocals(256);
            wideLocals(257);
            wideLocals(3000);
            arguments();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        // Frames of 65535 words need a large stack.
        Thread thread = new Thread(null, Limits::all, "limits", 256 << 20);
        thread.start();
        thread.join();
        MAIN.count("<clinit>()V", 1).count("all()V", 1);
        Expect.print();
    }
}
