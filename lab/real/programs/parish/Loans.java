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
import java.util.HexFormat;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Instruments that a company lends. /instruments/N describes one, /loans/N lists a shelf, /hours/N needs no instrument,
 * /inventories/N has an instrument of a shelf valued by a partner, /rates/N/CENTS changes a rate.
 * Properties: partner (address:port), instruments, threads, rounds (what an answer costs).
 */
public final class Loans {
    private static final int SHELF = 40;
    private static final ReentrantReadWriteLock BOOK = new ReentrantReadWriteLock();
    private static final int[] RATES = new int[Integer.getInteger("instruments", 2000)];
    private static Writer log;

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < RATES.length; number++) {
            RATES[number] = 900 + number * 7919 % 6000;
        }
        log = new FileWriter(arguments[3], true);
        HttpServer server =
            HttpServer.create(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads", 64)));
        server.createContext("/", Loans::handle);
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
        int number = Integer.parseInt(words[2]) % RATES.length;
        switch (words[1]) {
            case "rates":
                BOOK.writeLock().lock();
                try {
                    RATES[number] = Integer.parseInt(words[3]);
                } finally {
                    BOOK.writeLock().unlock();
                }
                return "{\"changed\":" + number + "}";
            case "hours":
                return "{\"hours\":\"" + sign("hours " + number) + "\"}";
            default:
                break;
        }
        BOOK.readLock().lock();
        try {
            switch (words[1]) {
                case "inventories":
                    return "{\"value\":\"" + fetchValue(number) + "\",\"shelf\":" + sumShelf(number) + "}";
                case "loans":
                    return "{\"shelf\":" + sumShelf(number) + "}";
                default:
                    return "{\"rate\":" + RATES[number] + ",\"signature\":\"" + sign("rate " + number) + "\"}";
            }
        } finally {
            BOOK.readLock().unlock();
        }
    }

    private static long sumShelf(int number) {
        long cents = 0;
        for (int place = 0; place < SHELF; place++) {
            cents += RATES[(number + place) % RATES.length];
        }
        return cents;
    }

    private static int fetchValue(int number) throws IOException {
        URLConnection connection =
            URI.create("http://" + System.getProperty("partner") + "/values/" + number).toURL().openConnection();
        connection.setReadTimeout(5000);
        try (InputStream input = connection.getInputStream()) {
            return input.readAllBytes().length;
        }
    }

    private static String sign(String text) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] value = text.getBytes(StandardCharsets.UTF_8);
        for (int round = 0; round < Integer.getInteger("rounds", 300); round++) {
            value = digest.digest(value);
        }
        return HexFormat.of().formatHex(value, 0, 8);
    }
}
