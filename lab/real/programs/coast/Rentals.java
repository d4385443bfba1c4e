import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Executors;

/**
 * Boats for rent: /boats/N plans the season of a boat, /harbors/N shows a harbor.
 *
 * <pre>java -Dthreads=.. -Ddays=.. -cp DIR Rentals ADDRESS PORT SETTINGS ACCESS_LOG</pre>
 */
public final class Rentals {
    private static final int DAYS = Integer.getInteger("days");

    private Rentals() {}

    private static String boat(int n) {
        double best = 0;
        double[] day = new double[DAYS];
        for (int first = 0; first < DAYS; first++) {
            day[first] = 40 + (n * 31 + first * 17) % 90;
            double price = 0;
            for (int last = first; last >= 0; last--) {
                price += day[last] * (1 - 0.3 / (1 + Math.sqrt(first - last + n % 7)));
                best = Math.max(best, price / (first - last + 3));
            }
        }
        return String.format(Locale.ROOT, "{\"boat\":%d,\"best\":%.2f}%n", n, best);
    }

    private static String harbor(int n) {
        return "{\"harbor\":" + n + ",\"berths\":" + (n * 7) % 240 + "}\n";
    }

    private static void answer(HttpExchange exchange, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int n = Integer.parseInt(path.substring(path.lastIndexOf('/') + 1));
        byte[] body = (path.startsWith("/boats/") ? boat(n) : harbor(n)).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        long now = System.currentTimeMillis();
        synchronized (log) {
            log.write(String.format(Locale.ROOT, "%.3f GET %s 200 %d%n", now / 1000.0, path, now - began));
            log.flush();
        }
    }

    public static void main(String[] words) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        Writer log = new FileWriter(words[3], true);
        server.createContext("/", exchange -> answer(exchange, log));
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads")));
        server.start();
    }
}
