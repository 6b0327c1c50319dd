package harness;

import assembler.ClassBytes;
import assembler.Code;
import assembler.Loader;
import java.lang.reflect.InvocationTargetException;

/**
 * Valid classes that javac does not generate: constructors with code, loops and branches before
 * super(), names with odd characters, code that shares its tail.
 */
public final class OddClasses {
    /** Superclass of the generated classes. */
    public static class Base {
        public Base(int n) {
            step();
            if (n < 0) {
                throw new IllegalArgumentException("base");
            }
        }
    }

    /** Called by generated code, before and after super(). */
    public static void step() {
        steps++;
    }

    public static void check(int n) {
        if (n == 13) {
            throw new IllegalStateException("check");
        }
    }

    static int steps;

    private static final String BASE = "harness/OddClasses$Base";
    private static final Loader LOADER = new Loader(OddClasses.class.getClassLoader());

    static Class<?> make(String name, int version, String what) {
        ClassBytes bytes = new ClassBytes(version, name, "harness.OddClasses$Base");
        Code code = bytes.addMethod(ClassBytes.PUBLIC, "<init>", "(I)V", 3, 3);
        int superInit = bytes.method(BASE, "<init>", "(I)V");
        int step = bytes.method("harness/OddClasses", "step", "()V");
        int check = bytes.method("harness/OddClasses", "check", "(I)V");
        int self = Code.object(bytes.type(name.replace('.', '/')));
        boolean frames = version >= 50;
        int[] before = {Code.UNINITIALIZED_THIS, Code.INT};
        int[] after = {self, Code.INT};
        switch (what) {
            case "early":
                // Sets a field, calls step in a loop and checks the argument, all before super().
                bytes.addField(0, "early", "I");
                code.op(Code.ALOAD_0, Code.ILOAD_1);
                code.op2(Code.PUTFIELD, bytes.field(name.replace('.', '/'), "early", "I"));
                code.op(Code.ICONST_1, 0x3d); // istore_2
                int loop = code.at();
                if (frames) {
                    code.frame(new int[] {Code.UNINITIALIZED_THIS, Code.INT, Code.INT});
                }
                code.op2(Code.INVOKESTATIC, step).op(Code.IINC, 2, 0xff).op(0x1c); // iload_2
                code.branch(Code.IFGT, loop);
                code.op(Code.ILOAD_1).op2(Code.INVOKESTATIC, check);
                code.op(Code.ALOAD_0, Code.ILOAD_1).op2(Code.INVOKESPECIAL, superInit);
                code.op2(Code.INVOKESTATIC, step).op(Code.RETURN);
                break;
            case "two":
                // Has two calls of super(), of which one runs.
                code.op(Code.ILOAD_1);
                int other = code.branch(Code.IFEQ);
                code.op(Code.ALOAD_0, Code.ILOAD_1).op2(Code.INVOKESPECIAL, superInit);
                int join = code.branch(Code.GOTO);
                code.land(other);
                if (frames) {
                    code.frame(before);
                }
                code.op(Code.ALOAD_0, Code.ICONST_1).op2(Code.INVOKESPECIAL, superInit);
                code.land(join);
                if (frames) {
                    code.frame(after);
                }
                code.op2(Code.INVOKESTATIC, step).op(Code.RETURN);
                break;
            case "never":
                // Always throws, before any super().
                code.op(Code.ILOAD_1).op2(Code.INVOKESTATIC, check);
                code.op2(0xbb, bytes.type("java/lang/IllegalStateException")).op(0x59);
                code.op2(Code.INVOKESPECIAL,
                        bytes.method("java/lang/IllegalStateException", "<init>", "()V"));
                code.op(Code.ATHROW);
                break;
            case "moved":
                // Moves this to local 2 and null to local 0. The code has no branches, so no stack
                // map frame needs a type for local 0.
                code.op(Code.ALOAD_0, Code.ASTORE_2, Code.ACONST_NULL, 0x4b); // astore_0
                code.op(Code.ILOAD_1).op2(Code.INVOKESTATIC, check);
                code.op(Code.ALOAD_2, Code.ILOAD_1).op2(Code.INVOKESPECIAL, superInit);
                code.op2(Code.INVOKESTATIC, step).op(Code.RETURN);
                break;
            case "caught":
                // Has a handler before super(), which continues with super().
                int start = code.at();
                code.op(Code.ILOAD_1).op2(Code.INVOKESTATIC, check);
                int end = code.at();
                int over = code.branch(Code.GOTO);
                int handler = code.at();
                if (frames) {
                    code.frame(before, Code.object(bytes.type("java/lang/Throwable")));
                }
                code.op(Code.POP);
                code.land(over);
                if (frames) {
                    code.frame(before);
                }
                code.op(Code.ALOAD_0, Code.ILOAD_1).op2(Code.INVOKESPECIAL, superInit).op(Code.RETURN);
                code.handler(start, end, handler, 0);
                break;
            default:
                throw new AssertionError(what);
        }
        return LOADER.define(bytes.toBytes());
    }

    /** Creates an object. Returns 1 if that failed, otherwise 0. */
    static int attempt(Class<?> type, int n) throws Exception {
        try {
            type.getConstructor(int.class).newInstance(n);
            return 0;
        } catch (InvocationTargetException e) {
            return 1;
        }
    }

    /** Defines a class and calls its methods; their names are legal for the JVM only. */
    static void names() throws Exception {
        String type = "harness.made.Odd name-\u00fc\ud83d\ude00 (&)'";
        String[] methods = {"a b", "\u4e2d\u6587", "\ud83d\ude00", "q\"uote'", "x&y", "-", "%s%n", "\t"};
        ClassBytes bytes = new ClassBytes(52, type, "java.lang.Object");
        for (String method : methods) {
            // Not empty, because some JVMs skip calls of empty methods that come from native code.
            bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, method, "()V", 1, 0)
                    .op(Code.NOP, Code.RETURN);
            Expect.of(type).count(method + "()V", 1);
        }
        Class<?> odd = LOADER.define(bytes.toBytes());
        for (String method : methods) {
            odd.getMethod(method).invoke(null);
        }
    }

    public static void main(String[] args) throws Exception {
        int[] arguments = {3, 13, -1, 0, 5};
        int failed = 0;
        Expect.Of main = Expect.program("harness.OddClasses").count("<clinit>()V", 1);
        for (int version : new int[] {48, 52}) {
            for (String what : new String[] {"early", "two", "never", "moved", "caught"}) {
                String name = "harness.made." + what + version;
                Class<?> type = make(name, version, what);
                for (int n : arguments) {
                    failed += attempt(type, n);
                }
                main.count("make(Ljava/lang/String;ILjava/lang/String;)Ljava/lang/Class;", 1);
                main.count("attempt(Ljava/lang/Class;I)I", arguments.length);
                Expect.of(name).count("<init>(I)V", arguments.length);
            }
        }
        names();
        System.out.println("failed " + failed + " steps " + steps);

        // Failures for each version. early: 13 and -1; two: -1; never: all; moved: 13, -1; caught:
        // -1.
        Expect.same(2 * (2 + 1 + 5 + 2 + 1), failed);
        main.nested("Base").count("<init>(I)V", 2 * (4 + 5 + 0 + 4 + 5));
        main.count("check(I)V", 2 * (5 + 0 + 5 + 5 + 5));
        // Called by Base, then by the classes: early (before and after super()), two, moved.
        main.count("step()V", 2 * (18 + (5 + 3) + 4 + 3)).count("names()V", 1);
        Expect.print();
    }
}
