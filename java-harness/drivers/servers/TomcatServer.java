import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
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
        int port = tomcat.getConnector().getLocalPort();
        Client[] clients = new Client[THREADS];
        for (int i = 0; i < THREADS; i++) {
            clients[i] = new Client(port);
        }
        Load.run(THREADS, (thread, number) -> {
            int upTo = (int) (number % 100);
            String expected = "n" + number + "=" + upTo * (upTo + 1) / 2;
            return clients[thread].post("/sum?to=" + upTo, "n" + number).equals(expected);
        });
        for (Client client : clients) {
            client.socket.close();
        }
        tomcat.stop();
        tomcat.destroy();
    }

    /** A connection that is kept. The JDK's own client loses one now and then, whatever the server does. */
    private static final class Client {
        private final Socket socket;
        private final DataInputStream input;

        Client(int port) throws IOException {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            input = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        }

        /** The body of the answer. */
        String post(String path, String body) throws IOException {
            String request = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            String status = line();
            int length = -1;
            for (String line = line(); !line.isEmpty(); line = line()) {
                if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                    length = Integer.parseInt(line.substring("content-length:".length()).trim());
                }
            }
            if (!status.startsWith("HTTP/1.1 200") || length < 0) {
                throw new IOException(status + ", " + length + " bytes");
            }
            byte[] answer = new byte[length];
            input.readFully(answer);
            return new String(answer, StandardCharsets.US_ASCII);
        }

        private String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int next = input.readUnsignedByte(); next != '\n'; next = input.readUnsignedByte()) {
                if (next != '\r') {
                    line.append((char) next);
                }
            }
            return line.toString();
        }
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
