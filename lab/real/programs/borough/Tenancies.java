import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Executors;

/**
 * Tenancies of a landlord. /papers/N lists papers of a house, /tenants/N needs none of them, /health asks the register
 * of the town whether it is there.
 * Properties: register (address:port), papers, threads, rounds (what an answer costs).
 */
public final class Tenancies {
    private static final int HOUSES = 900;
    private static final Map<Integer, List<String>> PAPERS = new HashMap<>();
    private static Writer log;

    private Tenancies() {}

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < Integer.getInteger("papers", 20000); number++) {
            PAPERS.computeIfAbsent(number % HOUSES, house -> new ArrayList<>()).add(sign("paper " + number, 8));
        }
        log = new FileWriter(arguments[2], true);
        HttpServer server =
            HttpServer.create(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads", 24)));
        server.createContext("/", Tenancies::handle);
        server.start();
    }

    private static void handle(HttpExchange exchange) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int status = 200;
        String text;
        try {
            text = answer(path.split("/"));
        } catch (Exception error) {
            status = 503;
            text = "{\"notice\":\"later\"}";
        }
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        String line = String.format(Locale.ROOT, "%.3f GET %s %d %d%n", began / 1000.0, path, status,
            System.currentTimeMillis() - began);
        synchronized (log) {
            log.write(line);
            log.flush();
        }
    }

    private static String answer(String[] words) throws Exception {
        if (words[1].equals("health")) {
            return "{\"register\":" + fetchRegister() + "}";
        }
        int number = Integer.parseInt(words[2]);
        String signature = sign(words[1] + " " + number, Integer.getInteger("rounds", 300));
        if (words[1].equals("papers")) {
            List<String> papers = PAPERS.get(number % HOUSES);
            return "{\"papers\":[\"" + String.join("\",\"", papers.subList(0, Math.min(20, papers.size()))) + "\"]}";
        }
        return "{\"tenant\":\"" + signature + "\"}";
    }

    private static int fetchRegister() throws IOException {
        URLConnection connection =
            URI.create("http://" + System.getProperty("register") + "/towns/1").toURL().openConnection();
        connection.setReadTimeout(20000);
        try (InputStream input = connection.getInputStream()) {
            return input.readAllBytes().length;
        }
    }

    private static String sign(String text, int rounds) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] value = text.getBytes(StandardCharsets.UTF_8);
            for (int round = 0; round < rounds; round++) {
                value = digest.digest(value);
            }
            return HexFormat.of().formatHex(value, 0, 8);
        } catch (java.security.NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }
}
