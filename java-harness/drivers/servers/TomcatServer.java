import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** An embedded server whose answers are known. Argument: folder for its files. */
public final class TomcatServer {
    private static final int THREADS = 4;

    private TomcatServer() {}

    public static void main(String[] args) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        // A client may ask at the moment when a server ends a connection; that would be no failure of anybody's.
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        tomcat.getConnector().setProperty("keepAliveTimeout", "-1");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "sum", new Sum());
        context.addServletMappingDecoded("/sum", "sum");
        tomcat.start();
        String base = "http://127.0.0.1:" + tomcat.getConnector().getLocalPort();
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        Load.run(THREADS, (thread, number) -> {
            int upTo = (int) (number % 100);
            HttpRequest request = HttpRequest.newBuilder(URI.create(base + "/sum?to=" + upTo))
                    .POST(HttpRequest.BodyPublishers.ofString("n" + number)).build();
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            String expected = "n" + number + "=" + upTo * (upTo + 1) / 2;
            return answer.statusCode() == 200 && answer.body().equals(expected);
        });
        tomcat.stop();
        tomcat.destroy();
    }

    private static final class Sum extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentType("text/plain");
            String body = request.getReader().readLine();
            response.getWriter().print(body + "=" + sum(Integer.parseInt(request.getParameter("to"))));
        }

        private static int sum(int n) {
            return n == 0 ? 0 : n + sum(n - 1);
        }
    }
}
