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
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Repairs of a watchmaker: /repairs/N estimates a repair with the prices of suppliers, /watches/N describes a watch.
 *
 * <pre>java -Drelease=.. -Dthreads=.. -Dsuppliers=HOST:PORT,.. -Dwait=MS -cp DIR Repairs ADDRESS PORT SETTINGS LOG</pre>
 *
 * Since release 60, the prices of all suppliers are read at the same time. wait: for how long an estimate waits for one.
 * Up to release 59, and where -Dreaders is set, the pool of the requests serves nothing else.
 */
public final class Repairs {
    private static final int RELEASE = Integer.getInteger("release");
    private static final String[] SUPPLIERS = System.getProperty("suppliers").split(",");
    private static final ExecutorService POOL = Executors.newFixedThreadPool(Integer.getInteger("threads"));
    private static final ExecutorService READERS =
        Integer.getInteger("readers") == null ? POOL : Executors.newFixedThreadPool(Integer.getInteger("readers"));

    private Repairs() {}

    private static String readPrice(String supplier, int n) throws IOException {
        URLConnection connection = URI.create("http://" + supplier + "/prices/" + n % 700).toURL().openConnection();
        connection.setReadTimeout(4000);
        try (InputStream input = connection.getInputStream()) {
            return Integer.toHexString(new String(input.readAllBytes(), StandardCharsets.ISO_8859_1).hashCode());
        }
    }

    private static List<String> readPrices(int n)
        throws IOException, InterruptedException, ExecutionException, TimeoutException {
        List<String> prices = new ArrayList<>();
        if (RELEASE < 60) {
            for (String supplier : SUPPLIERS) {
                prices.add(readPrice(supplier, n));
            }
            return prices;
        }
        List<Future<String>> readings = new ArrayList<>();
        for (String supplier : SUPPLIERS) {
            readings.add(READERS.submit(() -> readPrice(supplier, n)));
        }
        for (Future<String> reading : readings) {
            prices.add(reading.get(Integer.getInteger("wait"), TimeUnit.MILLISECONDS));
        }
        return prices;
    }

    private static void answer(HttpExchange exchange, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int n = Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)), status = 200;
        StringBuilder text = new StringBuilder("{\"n\":" + n);
        try {
            if (path.startsWith("/repairs/")) {
                text.append(",\"prices\":\"").append(String.join(" ", readPrices(n))).append('"');
            }
            for (int step = 0; step < 40; step++) {
                text.append(",\"step").append(step).append("\":").append((n * 31 + step * 17) % 900);
            }
        } catch (IOException | InterruptedException | ExecutionException | TimeoutException error) {
            text.append(",\"error\":\"").append(error.getClass().getSimpleName()).append('"');
            status = 503;
        }
        byte[] body = text.append("}\n").toString().getBytes(StandardCharsets.ISO_8859_1);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        long now = System.currentTimeMillis();
        synchronized (log) {
            log.write(String.format(Locale.ROOT, "%.3f GET %s %d %d%n", now / 1000.0, path, status, now - began));
            log.flush();
        }
    }

    public static void main(String[] words) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        Writer log = new FileWriter(words[3], true);
        server.createContext("/", exchange -> answer(exchange, log));
        server.setExecutor(POOL);
        server.start();
    }
}
