import java.lang.reflect.InvocationTargetException;

/**
 * Calls static methods without arguments, each given as Class.method. Prints the result of each
 * call and the events that it caused.
 */
public class Driver {
    public static void main(String[] args) throws Exception {
        for (String arg : args) {
            int dot = arg.lastIndexOf('.');
            String result;
            try {
                Class<?> type = Class.forName(arg.substring(0, dot));
                Recorder.take();
                result = String.valueOf(type.getMethod(arg.substring(dot + 1)).invoke(null));
            } catch (InvocationTargetException e) {
                Throwable t = e.getCause();
                result = t instanceof Error && !(t instanceof AssertionError) ? t.toString() : t.getClass().getSimpleName();
            } catch (LinkageError e) {
                result = e.toString().replace('\n', ' ');
            }
            System.out.println(arg + " = " + result + " | " + Recorder.take());
        }
    }
}
