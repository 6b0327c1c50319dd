package harness;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** java.lang.reflect.Proxy: classes that the library generates at run time. */
public final class Proxies {
    /** A public interface: its proxy class is in a package of the JDK. */
    public interface Greeter {
        String greet(String name);
    }

    /**
     * An interface that is not public: its proxy class is in this package, and is traced like any
     * class of the package.
     */
    interface Counter {
        long count(int a, long b, double c);

        void fail() throws Exception;
    }

    static final class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            switch (method.getName()) {
                case "greet":
                    return "hello " + arguments[0];
                case "count":
                    return (Integer) arguments[0] + (Long) arguments[1];
                default:
                    throw new Exception("handler");
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int n = 400;
        long sum = 0;
        ClassLoader loader = Proxies.class.getClassLoader();
        Handler handler = new Handler();
        Greeter greeter = (Greeter) Proxy.newProxyInstance(loader, new Class<?>[] {Greeter.class}, handler);
        Counter counter = (Counter) Proxy.newProxyInstance(loader, new Class<?>[] {Counter.class}, handler);
        for (int i = 0; i < n; i++) {
            sum += greeter.greet("you").length() + counter.count(i, 1L, 2.0);
            try {
                counter.fail();
            } catch (Exception e) {
                sum++;
            }
        }
        System.out.println("sum " + sum);

        Expect.Of main = Expect.program("harness.Proxies");
        main.nested("Handler").count("<init>()V", 1)
                .count("invoke(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)"
                        + "Ljava/lang/Object;", 3 * n);
        Expect.same("harness", counter.getClass().getPackageName());
        Expect.of(counter.getClass().getName()).count("<clinit>()V", 1)
                .count("<init>(Ljava/lang/reflect/InvocationHandler;)V", 1)
                .count("count(IJD)J", n).count("fail()V", n);
        Expect.fact("public-proxy", greeter.getClass().getName());
        Expect.print();
    }
}
