package harness;

import assembler.ClassBytes;
import assembler.Code;
import assembler.Loader;

/**
 * jsr and ret in forms that no compiler generated: wide ones, nested ones, subroutines that return
 * from the method or drop their return address. Class versions 45 to 50.
 */
public final class Subroutines {
    static int steps;

    /** Called by the subroutines. */
    public static void step(int n) {
        steps++;
        if (n == 3) {
            throw new IllegalStateException("three");
        }
    }

    private static final String[] FORMS = {"twice", "wide", "nested", "leaves", "drops", "before", "fails"};

    static void write(ClassBytes bytes, String form) {
        Code code = bytes.addMethod(ClassBytes.PUBLIC | ClassBytes.STATIC, form, "(I)I", 2, 400);
        int step = bytes.method("harness/Subroutines", "step", "(I)V");
        switch (form) {
            case "twice": {
                int first = code.branch(Code.JSR);
                int second = code.branch(Code.JSR);
                code.op(Code.ILOAD_0, Code.IRETURN);
                code.land(first).land(second);
                code.op(Code.ASTORE_2, Code.ILOAD_0).op2(Code.INVOKESTATIC, step);
                code.op(Code.IINC, 0, 10, Code.RET, 2);
                break;
            }
            case "wide": {
                int at = code.at();
                code.op(Code.JSR_W, 0, 0, 0, 7).op(Code.ILOAD_0, Code.IRETURN);
                Expect.same(at + 7, code.at());
                code.local(Code.ASTORE, 300).op(Code.ILOAD_0).op2(Code.INVOKESTATIC, step);
                code.local(Code.RET, 300);
                break;
            }
            case "nested": {
                int outer = code.branch(Code.JSR);
                code.op(Code.ILOAD_0, Code.IRETURN);
                code.land(outer).op(Code.ASTORE, 1);
                int inner = code.branch(Code.JSR);
                code.op(Code.RET, 1);
                code.land(inner).op(Code.ASTORE_2, Code.ILOAD_0).op2(Code.INVOKESTATIC, step);
                code.op(Code.RET, 2);
                break;
            }
            case "leaves": {
                // Returns from the method, directly out of the subroutine.
                int sub = code.branch(Code.JSR);
                code.op(Code.ILOAD_0, Code.IRETURN);
                code.land(sub).op(Code.ASTORE_2, Code.ILOAD_0).op2(Code.INVOKESTATIC, step);
                code.op(Code.ILOAD_0);
                int over = code.branch(Code.IFEQ);
                code.op(Code.ICONST_1, Code.IRETURN).land(over).op(Code.RET, 2);
                break;
            }
            case "drops": {
                int sub = code.branch(Code.JSR);
                code.land(sub).op(Code.POP, Code.ILOAD_0).op2(Code.INVOKESTATIC, step);
                code.op(Code.ILOAD_0, Code.IRETURN);
                break;
            }
            case "before": {
                // The subroutine precedes its callers.
                int main = code.branch(Code.GOTO);
                int sub = code.at();
                code.op(Code.ASTORE_2, Code.ILOAD_0).op2(Code.INVOKESTATIC, step).op(Code.RET, 2);
                code.land(main).branch(Code.JSR, sub).branch(Code.JSR, sub);
                code.op(Code.ILOAD_0, Code.IRETURN);
                break;
            }
            case "fails": {
                // Like finally: the handler runs the subroutine once more, and throws the exception
                // again.
                int start = code.at();
                code.op(Code.ILOAD_0).op2(Code.INVOKESTATIC, step);
                int normal = code.branch(Code.JSR);
                code.op(Code.ILOAD_0, Code.IRETURN);
                int end = code.at();
                code.handler(start, end, end, 0);
                code.op(Code.ASTORE, 1);
                int failed = code.branch(Code.JSR);
                code.op(0x2b, Code.ATHROW); // aload_1
                code.land(normal).land(failed);
                code.op(Code.ASTORE_2, Code.ICONST_0).op2(Code.INVOKESTATIC, step).op(Code.RET, 2);
                break;
            }
            default:
                throw new AssertionError(form);
        }
    }

    static int call(java.lang.reflect.Method method, int n) throws Exception {
        try {
            return (Integer) method.invoke(null, n);
        } catch (java.lang.reflect.InvocationTargetException e) {
            return -1;
        }
    }

    public static void main(String[] args) throws Exception {
        int[] versions = {45, 48, 50};
        int calls = 6;
        int sum = 0;
        Expect.Of main = Expect.program("harness.Subroutines").count("<clinit>()V", 1);
        for (int version : versions) {
            String name = "harness.made.Subroutines" + version;
            ClassBytes bytes = new ClassBytes(version, name, "java.lang.Object");
            for (String form : FORMS) {
                write(bytes, form);
            }
            Class<?> type = new Loader(Subroutines.class.getClassLoader()).define(bytes.toBytes());
            for (String form : FORMS) {
                for (int n = 0; n < calls; n++) {
                    sum += call(type.getMethod(form, int.class), n);
                }
                Expect.of(name).count(form + "(I)I", calls);
            }
        }
        System.out.println("sum " + sum + " steps " + steps);

        main.count("write(Lassembler/ClassBytes;Ljava/lang/String;)V", versions.length * FORMS.length);
        main.count("call(Ljava/lang/reflect/Method;I)I", versions.length * FORMS.length * calls);
        // With argument 3, the first step fails. "fails" then takes its second step in the handler.
        // "twice" and "before" take only one of their two steps.
        main.count("step(I)V", versions.length * (4 * 6 + 11 + 11 + 12));
        Expect.print();
    }
}
