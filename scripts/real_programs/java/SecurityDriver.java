import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.security.AccessControlContext;
import java.security.AccessController;
import java.security.Permission;
import java.security.PrivilegedAction;
import java.security.ProtectionDomain;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/**
 * A program under a security manager, which counts the permissions that are checked. Code without
 * permissions is denied. An agent must change neither the checked permissions, nor the number of
 * classes on the stack at each check.
 */
@SuppressWarnings({"removal", "deprecation"})
public final class SecurityDriver {
    private static final Map<String, Integer> ASKED = new TreeMap<>();
    private static volatile boolean counting;

    /**
     * Counts the permissions that are checked on the main thread, and has them checked as usual.
     */
    private static final class Counter extends SecurityManager {
        private final Thread main = Thread.currentThread();

        @Override
        public void checkPermission(Permission permission) {
            if (counting && Thread.currentThread() == main) {
                counting = false;
                String name = permission.getName().replaceAll("[0-9]+|/.*", "#");
                ASKED.merge(permission.getClass().getSimpleName() + " " + name + " " + getClassContext().length, 1, Integer::sum);
                counting = true;
            }
            super.checkPermission(permission);
        }
    }

    /**
     * Code that runs without permissions. {@link Sandbox} defines this class a second time, in a
     * protection domain that has none.
     */
    public static final class Untrusted implements Callable<String> {
        @Override
        public String call() {
            StringBuilder said = new StringBuilder();
            attempt(said, "property", () -> System.getProperty("user.home"));
            attempt(said, "file", () -> new File("/etc/passwd").exists());
            attempt(said, "exit", () -> {
                System.exit(7);
                return null;
            });
            attempt(said, "thread", () -> {
                new Thread(() -> { }, "mine").start();
                return "started";
            });
            attempt(said, "reflection", () -> String.class.getDeclaredFields().length > 0);
            attempt(said, "accessible", () -> {
                String.class.getDeclaredField("hash").setAccessible(true);
                return null;
            });
            attempt(said, "loader", () -> Object.class.getModule().getClassLoader() == null
                    && ClassLoader.getSystemClassLoader() != null);
            attempt(said, "privileged", () -> AccessController.doPrivileged(
                    (PrivilegedAction<String>) () -> System.getenv("HOME")));
            return said.toString();
        }

        private static void attempt(StringBuilder said, String what, Callable<?> action) {
            try {
                said.append(what).append(": ").append(action.call()).append('\n');
            } catch (Exception e) {
                said.append(what).append(": ").append(e).append(" at ").append(e.getStackTrace().length).append('\n');
            }
        }
    }

    private static final class Sandbox extends URLClassLoader {
        Sandbox(URL[] urls) {
            super(urls, null);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return name.startsWith("SecurityDriver") ? super.loadClass(name, resolve) : Class.forName(name);
        }

        @Override
        protected java.security.PermissionCollection getPermissions(java.security.CodeSource source) {
            return new java.security.Permissions();
        }
    }

    private static void query() throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:secured"); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE t AS SELECT x, x * x AS y FROM system_range(1, 1000)");
            try (ResultSet result = statement.executeQuery("SELECT MOD(x, 7), SUM(y) FROM t GROUP BY MOD(x, 7) ORDER BY 1")) {
                while (result.next()) {
                    System.out.println(result.getInt(1) + " " + result.getLong(2));
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        java.security.Policy.setPolicy(new java.security.Policy() {
            @Override
            public boolean implies(ProtectionDomain domain, Permission permission) {
                return domain.getClassLoader() == null || !(domain.getClassLoader() instanceof Sandbox);
            }
        });
        System.setSecurityManager(new Counter());
        query(); // loads the database's classes; nothing is counted yet
        counting = true;
        query();
        Sandbox sandbox = new Sandbox(new URL[] {SecurityDriver.class.getProtectionDomain().getCodeSource().getLocation()});
        @SuppressWarnings("unchecked")
        Callable<String> untrusted = (Callable<String>) sandbox.loadClass("SecurityDriver$Untrusted").getDeclaredConstructor().newInstance();
        System.out.print(untrusted.call());
        AccessControlContext none = new AccessControlContext(new ProtectionDomain[] {new ProtectionDomain(null, null)});
        System.out.println(AccessController.doPrivileged((PrivilegedAction<String>) () -> {
            try {
                return System.getProperty("java.home").isEmpty() ? "empty" : "read";
            } catch (SecurityException e) {
                return e.getMessage();
            }
        }, none));
        counting = false;
        ASKED.forEach((what, count) -> System.out.println(count + " " + what));
    }
}
