import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * An embedded server whose answers are known. Arguments: folder for its files; optionally
 * {@code lambdas}, so that lambdas sort the pages instead of a database.
 */
public final class TomcatServer {
    private static final int THREADS = 4;

    private TomcatServer() {}

    public static void main(String[] args) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        // If the server closed connections, a client could send a request at that very moment, and
        // would fail although nothing is wrong.
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        tomcat.getConnector().setProperty("keepAliveTimeout", "-1");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "stock", new Stock(args.length > 1 && args[1].equals("lambdas") ? Stock::sorted : database()));
        context.addServletMappingDecoded("/stock", "stock");
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        Client[] clients = new Client[THREADS];
        for (int i = 0; i < THREADS; i++) {
            clients[i] = new Client(port);
        }
        String[] expected = new String[Stock.PAGES];
        Stock known = new Stock(Stock::sorted);
        for (int page = 0; page < Stock.PAGES; page++) {
            expected[page] = known.page(page);
        }
        Load.run(THREADS, (thread, number) -> {
            int page = (int) (number % Stock.PAGES);
            return clients[thread].post("/stock?page=" + page, "n" + number).equals("n" + number + expected[page]);
        });
        for (Client client : clients) {
            client.socket.close();
        }
        tomcat.stop();
        tomcat.destroy();
    }

    /**
     * A connection that stays open. The JDK's own HTTP client loses one now and then, whatever the
     * server does.
     */
    private static final class Client {
        private final Socket socket;
        private final DataInputStream input;

        Client(int port) throws IOException {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            input = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        }

        /** Sends a request and returns the body of the answer. */
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

    /** Source of the articles of a shelf, sorted by price and name. */
    private interface Shelves {
        List<Article> byPrice(int shelf) throws IOException;
    }

    /** Creates a table of all articles. Each thread that asks gets its own connection. */
    private static Shelves database() throws SQLException {
        String url = "jdbc:h2:mem:stock;DB_CLOSE_DELAY=-1";
        try (Connection connection = DriverManager.getConnection(url); Statement create = connection.createStatement()) {
            create.execute("CREATE TABLE article(shelf INT, name VARCHAR(40), cents BIGINT, count INT)");
            create.execute("CREATE INDEX shelves ON article(shelf)");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO article VALUES(?, ?, ?, ?)")) {
                for (int shelf = 0; shelf < Stock.PAGES; shelf++) {
                    for (Article article : Stock.articles(shelf)) {
                        insert.setInt(1, shelf);
                        insert.setString(2, article.name);
                        insert.setLong(3, article.cents);
                        insert.setInt(4, article.count);
                        insert.executeUpdate();
                    }
                }
            }
        }
        ThreadLocal<PreparedStatement> queries = new ThreadLocal<>();
        return shelf -> {
            try {
                if (queries.get() == null) {
                    queries.set(DriverManager.getConnection(url)
                            .prepareStatement("SELECT name, cents, count FROM article WHERE shelf = ? ORDER BY cents, name"));
                }
                PreparedStatement query = queries.get();
                query.setInt(1, shelf);
                List<Article> articles = new ArrayList<>();
                try (ResultSet rows = query.executeQuery()) {
                    while (rows.next()) {
                        articles.add(new Article(rows.getString(1), rows.getLong(2), rows.getInt(3)));
                    }
                }
                return articles;
            } catch (SQLException e) {
                throw new IOException(e);
            }
        };
    }

    /**
     * Answers with a page like those of typical programs: for some shelves, a table of the articles
     * by price, and their total value.
     */
    private static final class Stock extends HttpServlet {
        static final int PAGES = 50;
        private static final int SHELVES = 6;
        private static final long serialVersionUID = 1;
        private final transient Shelves shelves;

        Stock(Shelves shelves) {
            this.shelves = shelves;
        }

        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentType("text/html");
            String body = request.getReader().readLine();
            int page = Integer.parseInt(request.getParameter("page"));
            String answer = body + page(page);
            response.setContentLength(answer.length()); // the answer is ASCII
            response.getWriter().print(answer);
        }

        /** Returns the tables of the page's shelves as HTML. */
        String page(int page) throws IOException {
            StringBuilder html = new StringBuilder();
            for (int i = 0; i < SHELVES; i++) {
                addTable(html, shelves.byPrice((page + i) % PAGES));
            }
            return html.toString();
        }

        /** Returns the articles of a shelf. */
        static List<Article> articles(int shelf) {
            List<Article> articles = new ArrayList<>();
            for (int i = 0; i < 60 + shelf; i++) {
                articles.add(new Article("Nuts & bolts <" + (shelf + 37 * i) % 101 + ">", (shelf + 7919L * i) % 1009, i));
            }
            return articles;
        }

        /** Returns the articles of a shelf, sorted by lambdas that are created each time. */
        static List<Article> sorted(int shelf) {
            List<Article> articles = articles(shelf);
            articles.sort(Comparator.comparingLong((Article article) -> article.cents).thenComparing(article -> article.name));
            return articles;
        }

        private static void addTable(StringBuilder html, List<Article> articles) {
            html.append("<table>");
            long worth = 0;
            for (Article article : articles) {
                html.append("<tr><td>").append(escaped(article.name)).append("</td><td>").append(price(article.cents)).append("</td></tr>");
                worth += article.cents * article.count;
            }
            html.append("</table>").append(price(worth));
        }

        private static String price(long cents) {
            return cents / 100 + (cents % 100 < 10 ? ".0" : ".") + cents % 100;
        }

        private static String escaped(String text) {
            StringBuilder out = new StringBuilder();
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                switch (c) {
                    case '&':
                        out.append("&amp;");
                        break;
                    case '<':
                        out.append("&lt;");
                        break;
                    case '>':
                        out.append("&gt;");
                        break;
                    default:
                        out.append(c);
                }
            }
            return out.toString();
        }
    }

    private static final class Article {
        final String name;
        final long cents;
        final int count;

        Article(String name, long cents, int count) {
            this.name = name;
            this.cents = cents;
            this.count = count;
        }
    }
}
