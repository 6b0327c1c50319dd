import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import jakarta.servlet.annotation.WebListener;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * A small web application: a servlet with a session, lambdas and an error on purpose, and a
 * listener.
 */
@WebServlet("/count/*")
public final class CountServlet extends HttpServlet {
    private static final long serialVersionUID = 1;

    /** Listener for the start of the application. */
    @WebListener
    public static final class Listener implements ServletContextListener {
        @Override
        public void contextInitialized(ServletContextEvent event) {
            event.getServletContext().setAttribute("begun", "begun");
        }
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String path = request.getPathInfo() == null ? "" : request.getPathInfo();
        if (path.equals("/fail")) {
            throw new IllegalStateException("on purpose");
        }
        Integer count = (Integer) request.getSession().getAttribute("count");
        count = count == null ? 1 : count + 1;
        request.getSession().setAttribute("count", count);
        String words = Arrays.stream(path.split("/")).sorted((a, b) -> b.compareTo(a)).map(String::toUpperCase)
                .collect(Collectors.joining(","));
        response.setContentType("text/plain");
        response.getWriter().print(getServletContext().getAttribute("begun") + " " + count + " " + words);
    }
}
