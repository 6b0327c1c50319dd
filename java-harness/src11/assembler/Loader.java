package assembler;

/** Defines classes from bytes, in front of the application's. */
public final class Loader extends ClassLoader {
    public Loader(ClassLoader parent) {
        super(parent);
    }

    public Class<?> define(byte[] bytes) {
        return defineClass(null, bytes, 0, bytes.length);
    }
}
