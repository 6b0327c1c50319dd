import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * A web application that Spring's devtools restart in a new class loader each time a file in the
 * watched folder changes. Each start adds a file to the folder, up to a number of starts.
 *
 * <p>Arguments are properties: {@code --spring.devtools.restart.additional-paths=} names the
 * watched folder, {@code --starts=} is the number of starts, and all others are the application's.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class DevtoolsDriver {
    @RestController
    public static class Pages {
        private int count;

        @GetMapping("/page")
        public String page() {
            return "page " + ++count;
        }
    }

    @Bean
    public Pages pages() {
        return new Pages();
    }

    public static void main(String[] args) throws Exception {
        ConfigurableApplicationContext context = SpringApplication.run(DevtoolsDriver.class, args);
        Path folder = Path.of(context.getEnvironment().getProperty("spring.devtools.restart.additional-paths"));
        int starts = context.getEnvironment().getProperty("starts", Integer.class);
        int port = ((WebServerApplicationContext) context).getWebServer().getPort();
        HttpClient client = HttpClient.newHttpClient();
        for (int i = 0; i < 20; i++) {
            String path = i % 5 == 4 ? "/nowhere" : "/page";
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + (answer.statusCode() == 200 ? answer.body() : ""));
        }
        int started;
        try (Stream<Path> files = Files.list(folder)) {
            started = (int) files.count() + 1;
        }
        System.out.println("start " + started + " by " + DevtoolsDriver.class.getClassLoader().getClass().getSimpleName());
        if (started == starts) {
            System.exit(SpringApplication.exit(context));
        }
        Files.writeString(folder.resolve("start-" + started), "changed");
    }
}
