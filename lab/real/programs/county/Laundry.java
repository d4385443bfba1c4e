import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.concurrent.Executors;

/**
 * A laundry. /pickups/N asks the planner of routes when a van comes, /prices/N is known here.
 * Arguments: address, port, planner (address:port), threads, rounds (what an answer costs).
 */
public final class Laundry {
    private static String planner;
    private static int rounds;

    private Laundry() {}

    public static void main(String[] arguments) throws Exception {
        planner = arguments[2];
        rounds = Integer.parseInt(arguments[4]);
        HttpServer server =
            HttpServer.create(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])), 512);
        server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(arguments[3])));
        server.createContext("/", Laundry::handle);
        server.start();
    }

    private static void handle(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        int status = 200;
        byte[] body = {};
        try {
            String van = path.startsWith("/pickups/") ? fetchPlan(path.substring(9)) : "";
            body = ("{\"seal\":\"" + seal(path) + "\",\"van\":\"" + van + "\"}").getBytes(StandardCharsets.UTF_8);
        } catch (Exception error) {
            status = 502;
        }
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static String fetchPlan(String number) throws IOException {
        URLConnection plan = URI.create("http://" + planner + "/plans/" + number).toURL().openConnection();
        plan.setReadTimeout(5000);
        try (InputStream answer = plan.getInputStream()) {
            return Integer.toString(answer.readAllBytes().length % 40);
        }
    }

    private static String seal(String text) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int round = 0; round < rounds; round++) {
            bytes = digest.digest(bytes);
        }
        return HexFormat.of().formatHex(bytes, 0, 8);
    }
}
