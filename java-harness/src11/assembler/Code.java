package assembler;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The code of one method. The caller is responsible for positions and sizes: this class computes
 * none.
 */
public final class Code {
    public static final int NOP = 0x00;
    public static final int ACONST_NULL = 0x01;
    public static final int ICONST_0 = 0x03;
    public static final int ICONST_1 = 0x04;
    public static final int ILOAD = 0x15;
    public static final int LLOAD = 0x16;
    public static final int ILOAD_0 = 0x1a;
    public static final int ILOAD_1 = 0x1b;
    public static final int ALOAD_0 = 0x2a;
    public static final int ALOAD_2 = 0x2c;
    public static final int ISTORE = 0x36;
    public static final int ASTORE = 0x3a;
    public static final int ISTORE_0 = 0x3b;
    public static final int ASTORE_2 = 0x4d;
    public static final int POP = 0x57;
    public static final int IADD = 0x60;
    public static final int LADD = 0x61;
    public static final int IINC = 0x84;
    public static final int L2I = 0x88;
    public static final int IFEQ = 0x99;
    public static final int IFNE = 0x9a;
    public static final int IFGT = 0x9d;
    public static final int GOTO = 0xa7;
    public static final int JSR = 0xa8;
    public static final int RET = 0xa9;
    public static final int IRETURN = 0xac;
    public static final int RETURN = 0xb1;
    public static final int PUTFIELD = 0xb5;
    public static final int INVOKESPECIAL = 0xb7;
    public static final int INVOKESTATIC = 0xb8;
    public static final int ATHROW = 0xbf;
    public static final int WIDE = 0xc4;
    public static final int JSR_W = 0xc9;

    /** Verification types for stack map frames. {@link #object} returns the type of an object. */
    public static final int TOP = 0;
    public static final int INT = 1;
    public static final int LONG = 4;
    public static final int UNINITIALIZED_THIS = 6;

    private final int access;
    private final int name;
    private final int descriptor;
    private final int stack;
    private final int locals;
    private byte[] code = new byte[256];
    private int length;
    private final List<int[]> handlers = new ArrayList<>();
    private final TreeMap<Integer, int[][]> frames = new TreeMap<>();

    Code(int access, int name, int descriptor, int stack, int locals) {
        this.access = access;
        this.name = name;
        this.descriptor = descriptor;
        this.stack = stack;
        this.locals = locals;
    }

    /** Returns the verification type of an object whose class is the given constant. */
    public static int object(int type) {
        return 7 | type << 8;
    }

    /** Returns the position of the next instruction. */
    public int at() {
        return length;
    }

    /** Appends an instruction, or any bytes of one. */
    public Code op(int... bytes) {
        for (int b : bytes) {
            if (length == code.length) {
                code = java.util.Arrays.copyOf(code, 2 * length);
            }
            code[length++] = (byte) b;
        }
        return this;
    }

    /** Appends an instruction with a two-byte operand. */
    public Code op2(int opcode, int operand) {
        return op(opcode, operand >> 8, operand);
    }

    /** Appends an instruction on a local variable, with the wide prefix if the index needs it. */
    public Code local(int opcode, int index) {
        return index < 256 ? op(opcode, index) : op(WIDE).op2(opcode, index);
    }

    /** Appends a branch to a known position. */
    public Code branch(int opcode, int target) {
        return op2(opcode, target - length);
    }

    /**
     * Appends a branch whose target is not known yet. Returns the branch's position, for
     * {@link #land}.
     */
    public int branch(int opcode) {
        int from = length;
        op2(opcode, 0);
        return from;
    }

    /** Makes the branch at {@code from} lead to the next instruction. */
    public Code land(int from) {
        int distance = length - from;
        if (distance > Short.MAX_VALUE) {
            throw new IllegalStateException("branch over " + distance);
        }
        code[from + 1] = (byte) (distance >> 8);
        code[from + 2] = (byte) distance;
        return this;
    }

    /** Appends nop instructions up to the given position. */
    public Code fill(int until) {
        while (length < until) {
            op(NOP);
        }
        return this;
    }

    /** Adds a stack map frame at the current position, for class versions from 50 on. */
    public Code frame(int[] localTypes, int... stackTypes) {
        frames.put(length, new int[][] {localTypes, stackTypes});
        return this;
    }

    /** Adds an exception handler. Type 0 catches everything. */
    public Code handler(int start, int end, int handler, int type) {
        handlers.add(new int[] {start, end, handler, type});
        return this;
    }

    byte[] toBytes(int codeName, int framesName) {
        byte[] table = ClassBytes.bytes(out -> {
            out.writeShort(frames.size());
            int previous = -1;
            for (var entry : frames.entrySet()) {
                out.writeByte(255);
                out.writeShort(entry.getKey() - previous - 1);
                previous = entry.getKey();
                for (int[] types : entry.getValue()) {
                    out.writeShort(types.length);
                    for (int type : types) {
                        out.writeByte(type);
                        if ((type & 0xff) == 7) {
                            out.writeShort(type >> 8);
                        }
                    }
                }
            }
        });
        byte[] body = ClassBytes.bytes(out -> {
            out.writeShort(stack);
            out.writeShort(locals);
            out.writeInt(length);
            out.write(code, 0, length);
            out.writeShort(handlers.size());
            for (int[] handler : handlers) {
                for (int part : handler) {
                    out.writeShort(part);
                }
            }
            out.writeShort(frames.isEmpty() ? 0 : 1);
            if (!frames.isEmpty()) {
                out.writeShort(framesName);
                out.writeInt(table.length);
                out.write(table);
            }
        });
        return ClassBytes.bytes(out -> {
            out.writeShort(access);
            out.writeShort(name);
            out.writeShort(descriptor);
            out.writeShort(1);
            out.writeShort(codeName);
            out.writeInt(body.length);
            out.write(body);
        });
    }
}
