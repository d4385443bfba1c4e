import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;

/**
 * The storefront of a shop: pages, prices of a partner, reviews, and baskets that it keeps in memory.
 *
 * <pre>java -cp DIR Storefront ADDRESS PORT SETTINGS ACCESS_LOG</pre>
 *
 * Settings are properties and are read again when the file changes: threads (of requests, at the start only), partner
 * (its address), work (rounds of hashing of a page), baskets (most that are kept), lines (of a basket), scratch (KB
 * that a page needs while it is built), rule (a pattern that reviews must not match), separator and mark (the long
 * lines that some reviews have), exact (the price table does not change while a price is fetched).
 */
public final class Storefront {
    private static volatile Properties settings = new Properties();
    private static volatile Pattern rule = Pattern.compile("spam");
    private static final Map<Integer, Basket> BASKETS = new LinkedHashMap<>();
    private static final Map<Integer, Integer> PRICES = new HashMap<>();
    private static FileWriter log;

    /** What a customer wants to buy. */
    private static final class Basket {
        final String[] articles;
        final Integer[] amounts;

        Basket(int n, int lines) {
            articles = new String[lines];
            amounts = new Integer[lines];
            for (int i = 0; i < lines; i++) {
                articles[i] = "article " + (n + i);
                amounts[i] = Integer.valueOf(n * 1000 + i);
            }
        }
    }

    private interface Answer {
        String build(int n) throws Exception;
    }

    private static int number(String name) {
        return Integer.parseInt(settings.getProperty(name, "0").trim());
    }

    private static void load(Path path) throws IOException {
        Properties next = new Properties();
        try (InputStream in = Files.newInputStream(path)) {
            next.load(in);
        }
        settings = next;
        rule = Pattern.compile(next.getProperty("rule", "spam"));
    }

    private static String page(int n) throws Exception {
        byte[][] scratch = new byte[number("scratch")][];
        for (int i = 0; i < scratch.length; i++) {
            scratch[i] = new byte[1024];
        }
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] text = ("page " + n).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < number("work"); i++) {
            text = digest.digest(text);
        }
        return "page " + n + text[0];
    }

    private static String price(int n) throws Exception {
        page(n);
        if (Boolean.parseBoolean(settings.getProperty("exact"))) {
            synchronized (PRICES) {
                return store(n, fetch("/prices/" + n));
            }
        }
        int size = fetch("/prices/" + n);
        synchronized (PRICES) {
            return store(n, size);
        }
    }

    private static String store(int n, int size) {
        PRICES.merge(n % 4000, size, Integer::sum);
        return "price " + PRICES.get(n % 4000);
    }

    private static int fetch(String path) throws IOException {
        URL url = new URL("http://" + settings.getProperty("partner") + path);
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        connection.setReadTimeout(30_000);
        try (InputStream in = connection.getInputStream()) {
            return in.readAllBytes().length;
        }
    }

    private static String review(int n) throws Exception {
        StringBuilder text = new StringBuilder(page(n));
        for (int i = 0; i < 12; i++) {
            text.append(" word").append((n * 7 + i) % 53);
        }
        if (n % 16 == 0) {
            text.append(' ').append(settings.getProperty("mark").repeat(number("separator"))).append(" -");
        }
        return rule.matcher(text).find() ? "held" : "published";
    }

    private static String basket(int n) throws Exception {
        page(n);
        Basket basket = new Basket(n, number("lines"));
        synchronized (BASKETS) {
            BASKETS.remove(n);
            BASKETS.put(n, basket);
            var oldest = BASKETS.entrySet().iterator();
            while (BASKETS.size() > number("baskets") && oldest.hasNext()) {
                oldest.next();
                oldest.remove();
            }
            return "baskets " + BASKETS.size();
        }
    }

    /** Fills the memory with baskets of earlier customers. */
    private static void restoreBaskets() {
        int most = number("baskets");
        for (int i = BASKETS.size(); i < most; i++) {
            Basket basket = new Basket(i, number("lines"));
            synchronized (BASKETS) {
                BASKETS.put(-i - 1, basket);
            }
        }
    }

    private static void answer(HttpExchange exchange, Answer answer) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int status = 200;
        String text;
        try {
            text = answer.build(Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)));
        } catch (Exception error) {
            status = 503;
            text = String.valueOf(error);
        }
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        String line = String.format("%.3f %s %s %d %d%n", began / 1000.0, exchange.getRequestMethod(), path, status,
            System.currentTimeMillis() - began);
        synchronized (log) {
            log.write(line);
            log.flush();
        }
    }

    public static void main(String[] words) throws Exception {
        Path path = Path.of(words[2]);
        load(path);
        log = new FileWriter(words[3], true);
        restoreBaskets();
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(number("threads")));
        server.createContext("/pages/", exchange -> answer(exchange, Storefront::page));
        server.createContext("/prices/", exchange -> answer(exchange, Storefront::price));
        server.createContext("/reviews/", exchange -> answer(exchange, Storefront::review));
        server.createContext("/baskets/", exchange -> answer(exchange, Storefront::basket));
        server.start();
        long last = Files.getLastModifiedTime(path).toMillis();
        while (true) {
            Thread.sleep(300);
            long changed = Files.getLastModifiedTime(path).toMillis();
            if (changed != last) {
                last = changed;
                load(path);
                restoreBaskets();
            }
        }
    }
}
