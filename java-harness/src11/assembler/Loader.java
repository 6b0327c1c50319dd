package assembler;

/** Class loader that defines classes from bytes and leaves all others to its parent. */
public final class Loader extends ClassLoader {
    public Loader(ClassLoader parent) {
        super(parent);
    }

    public Class<?> define(byte[] bytes) {
        return defineClass(null, bytes, 0, bytes.length);
    }
}
