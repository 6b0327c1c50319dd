import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Scanner;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * Deploys a web application, requests pages and undeploys it, again and again, each time in a new
 * class loader. For each number in the input, it does that many rounds, then prints how many went
 * right and what the JVM uses. Arguments: folder for the server's files, folder of the application.
 */
public final class RedeployDriver {
    private static final Logger LOGGER = Logger.getLogger("org.apache");

    public static void main(String[] args) throws Exception {
        LOGGER.setLevel(Level.OFF);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxThreads", "4");
        tomcat.getHost().setAppBase(args[0]);
        new File(args[0]).mkdirs();
        tomcat.start();
        String base = "http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/web/count";
        HttpClient client = HttpClient.newHttpClient();
        System.out.println("[ready]");
        Scanner words = new Scanner(System.in);
        while (words.hasNextInt()) {
            int right = 0;
            for (int left = words.nextInt(); left > 0; left--) {
                right += deploy(tomcat, args[1], client, base) ? 1 : 0;
            }
            System.out.println("[figures] right=" + right + figures());
        }
        tomcat.stop();
        tomcat.destroy();
        System.out.println("[sound]");
    }

    private static boolean deploy(Tomcat tomcat, String application, HttpClient client, String base) throws Exception {
        Context context = tomcat.addWebapp("/web", application);
        boolean right = true;
        for (String path : new String[] {"/b/a", "/fail", "/c"}) {
            HttpResponse<String> answer = client.send(HttpRequest.newBuilder(URI.create(base + path)).build(),
                    HttpResponse.BodyHandlers.ofString());
            right &= path.equals("/fail") ? answer.statusCode() == 500 : answer.body().startsWith("begun 1 ");
        }
        tomcat.getHost().removeChild(context);
        return right;
    }

    /**
     * Returns the sizes of metaspace and heap and the number of loaded classes. Collects garbage
     * first, so that unused class loaders are unloaded.
     */
    private static String figures() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        StringBuilder said = new StringBuilder();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Metaspace")) {
                said.append(" metaspace=").append(pool.getUsage().getUsed());
            }
        }
        said.append(" classes=").append(ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        return said.append(" heap=").append(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()).toString();
    }
}
