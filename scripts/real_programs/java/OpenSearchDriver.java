import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;
import org.opensearch.transport.Netty4Plugin;

/**
 * An embedded node that answers requests on the loopback interface. Arguments: folder for its
 * files, number of documents.
 */
public final class OpenSearchDriver {
    private static final class Embedded extends Node {
        Embedded(Settings settings, List<Class<? extends Plugin>> plugins) {
            super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "one"), plugins, false);
        }
    }

    private static String send(HttpClient client, String base, String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(base + path)).header("Content-Type", "application/json")
                .method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body)).build();
        HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        // Durations and random ids differ from run to run.
        String text = response.body().replaceAll("\"took\":\\d+", "\"took\":0").replaceAll("\"index_uuid\":\"[^\"]*\"", "");
        return response.statusCode() + " " + text;
    }

    public static void main(String[] args) throws Exception {
        int documents = Integer.parseInt(args[1]);
        Settings settings = Settings.builder().put("path.home", args[0]).put("node.name", "one").put("cluster.name", "embedded")
                .put("discovery.type", "single-node").put("network.host", "127.0.0.1").put("http.port", "0").put("transport.port", "0")
                .put("http.type", "netty4").put("transport.type", "netty4").put("node.processors", 2)
                .put("cluster.routing.allocation.disk.threshold_enabled", false).build();
        try (Node node = new Embedded(settings, List.of(Netty4Plugin.class, CommonAnalysisPlugin.class))) {
            node.start();
            InetSocketAddress address = node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress().address();
            String base = "http://127.0.0.1:" + address.getPort();
            HttpClient client = HttpClient.newHttpClient();
            System.out.println(send(client, base, "PUT", "/books", "{\"settings\":{\"number_of_shards\":1,\"number_of_replicas\":0},"
                    + "\"mappings\":{\"properties\":{\"title\":{\"type\":\"text\",\"analyzer\":\"english\"},\"year\":{\"type\":\"integer\"}}}}"));
            StringBuilder bulk = new StringBuilder();
            for (int i = 0; i < documents; i++) {
                bulk.append("{\"index\":{\"_index\":\"books\",\"_id\":\"").append(i).append("\"}}\n{\"title\":\"Running tales of ")
                        .append(i % 17).append(" foxes and ").append(i % 5).append(" dogs\",\"year\":").append(1900 + i % 100).append("}\n");
            }
            System.out.println(send(client, base, "POST", "/_bulk?refresh=true", bulk.toString()).length() > documents);
            for (String word : List.of("fox", "run", "7", "cat")) {
                System.out.println(send(client, base, "POST", "/books/_search", "{\"size\":3,\"query\":{\"match\":{\"title\":\"" + word
                        + "\"}},\"sort\":[{\"year\":\"desc\"},{\"_score\":\"desc\"}],\"aggs\":{\"years\":{\"histogram\":{\"field\":\"year\",\"interval\":25}}}}"));
            }
            System.out.println(send(client, base, "POST", "/books/_update/3", "{\"doc\":{\"year\":3000}}"));
            System.out.println(send(client, base, "POST", "/books/_forcemerge?max_num_segments=1", null));
            System.out.println(send(client, base, "GET", "/books/_doc/3", null));
            System.out.println(send(client, base, "GET", "/nowhere/_doc/3", null));
            System.out.println(send(client, base, "POST", "/books/_search", "{\"query\":{\"broken\":{}}}"));
            System.out.println(send(client, base, "DELETE", "/books", null));
        }
    }
}
