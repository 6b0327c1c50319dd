package assembler;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes class files that no Java compiler writes: at the limits of the format, or odd but valid.
 * This class is not in the package of the harness, so that it is not traced with the harness.
 */
public final class ClassBytes {
    public static final int PUBLIC = 1;
    public static final int STATIC = 8;

    private final int version;
    private final int self;
    private final int superclass;
    private final ByteArrayOutputStream pool = new ByteArrayOutputStream();
    private final Map<String, Integer> known = new HashMap<>();
    private final List<byte[]> fields = new ArrayList<>();
    private final List<Code> methods = new ArrayList<>();
    private int constants = 1;

    /** Begins a public class. Both names are written with dots. */
    public ClassBytes(int version, String name, String superName) {
        this.version = version;
        self = type(name.replace('.', '/'));
        superclass = type(superName.replace('.', '/'));
    }

    /**
     * Returns the number of constants so far, including the unused one at 0. The format allows
     * 65535.
     */
    public int constants() {
        return constants;
    }

    public int utf8(String text) {
        return constant("u" + text, 1, out -> out.writeUTF(text));
    }

    /** Returns the index of a class constant. The name is in internal form. */
    public int type(String name) {
        int utf8 = utf8(name);
        return constant("c" + name, 7, out -> out.writeShort(utf8));
    }

    public int integer(int value) {
        return constant("i" + value, 3, out -> out.writeInt(value));
    }

    public int method(String owner, String name, String descriptor) {
        return member(10, owner, name, descriptor);
    }

    public int field(String owner, String name, String descriptor) {
        return member(9, owner, name, descriptor);
    }

    private int member(int tag, String owner, String name, String descriptor) {
        int type = type(owner);
        int n = utf8(name);
        int d = utf8(descriptor);
        int pair = constant("n" + name + " " + descriptor, 12, out -> {
            out.writeShort(n);
            out.writeShort(d);
        });
        return constant("m" + tag + owner + " " + name + " " + descriptor, tag, out -> {
            out.writeShort(type);
            out.writeShort(pair);
        });
    }

    /** Adds a field to the class. */
    public void addField(int access, String name, String descriptor) {
        int n = utf8(name);
        int d = utf8(descriptor);
        fields.add(bytes(out -> {
            out.writeShort(access);
            out.writeShort(n);
            out.writeShort(d);
            out.writeShort(0);
        }));
    }

    /** Adds a method to the class. Its code is written afterwards. */
    public Code addMethod(int access, String name, String descriptor, int stack, int locals) {
        utf8("Code");
        utf8("StackMapTable");
        Code code = new Code(access, utf8(name), utf8(descriptor), stack, locals);
        methods.add(code);
        return code;
    }

    /** Adds a constructor without arguments, so that objects of the class can be created. */
    public void addDefaultConstructor(String superName) {
        addMethod(PUBLIC, "<init>", "()V", 1, 1)
                .op(Code.ALOAD_0).op2(Code.INVOKESPECIAL, method(superName, "<init>", "()V")).op(Code.RETURN);
    }

    public byte[] toBytes() {
        List<byte[]> bodies = new ArrayList<>();
        int code = utf8("Code");
        int frames = utf8("StackMapTable");
        for (Code method : methods) {
            bodies.add(method.toBytes(code, frames));
        }
        return bytes(out -> {
            out.writeInt(0xCAFEBABE);
            // Before version 45.3, the attribute Code had another layout.
            out.writeShort(version == 45 ? 3 : 0);
            out.writeShort(version);
            out.writeShort(constants);
            out.write(pool.toByteArray());
            out.writeShort(PUBLIC | 0x20);
            out.writeShort(self);
            out.writeShort(superclass);
            out.writeShort(0);
            out.writeShort(fields.size());
            for (byte[] field : fields) {
                out.write(field);
            }
            out.writeShort(bodies.size());
            for (byte[] body : bodies) {
                out.write(body);
            }
            out.writeShort(0);
        });
    }

    interface Write {
        void to(DataOutputStream out) throws IOException;
    }

    static byte[] bytes(Write write) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            write.to(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private int constant(String key, int tag, Write write) {
        Integer index = known.get(key);
        if (index == null) {
            if (constants >= 65535) {
                throw new IllegalStateException("constant pool is full");
            }
            byte[] body = bytes(write);
            pool.write(tag);
            pool.write(body, 0, body.length);
            index = constants++;
            known.put(key, index);
        }
        return index;
    }
}
