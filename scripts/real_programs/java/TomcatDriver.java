import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * An embedded server and its clients, in one process. Arguments: folder for the server's files,
 * number of requests.
 */
public final class TomcatDriver {
    public static void main(String[] args) throws Exception {
        int requests = Integer.parseInt(args[1]);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxThreads", "8");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "echo", new Echo());
        context.addServletMappingDecoded("/echo/*", "echo");
        tomcat.start();
        try {
            load("http://127.0.0.1:" + tomcat.getConnector().getLocalPort(), requests);
        } finally {
            tomcat.stop();
            tomcat.destroy();
        }
    }

    private static void load(String base, int requests) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        TreeMap<Integer, Integer> statuses = new TreeMap<>();
        long length = 0;
        for (int round = 0; round < requests; round += 10) {
            List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
            for (int i = round; i < Math.min(requests, round + 10); i++) {
                String path = i % 13 == 0 ? "/nowhere" : i % 17 == 0 ? "/echo/fail" : "/echo/a?n=" + i;
                HttpRequest request = HttpRequest.newBuilder(URI.create(base + path))
                        .POST(HttpRequest.BodyPublishers.ofString("body " + i)).build();
                answers.add(client.sendAsync(request, HttpResponse.BodyHandlers.ofString()));
            }
            for (CompletableFuture<HttpResponse<String>> answer : answers) {
                statuses.merge(answer.get().statusCode(), 1, Integer::sum);
                length += answer.get().statusCode() == 200 ? answer.get().body().length() : 0;
            }
        }
        System.out.println("statuses " + statuses + " length " + length);
    }

    private static final class Echo extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
            if (request.getPathInfo().equals("/fail")) {
                throw new IllegalStateException("on purpose");
            }
            response.setContentType("text/plain");
            response.getWriter().print(request.getParameter("n") + ":");
            request.getReader().lines().forEach(line -> {
                try {
                    response.getWriter().print(line);
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
    }
}
