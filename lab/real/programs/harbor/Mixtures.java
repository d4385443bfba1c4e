import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executors;

/**
 * Paints that are mixed: a mixture has the parts of many tints, a shade and a tin are known without.
 *
 * <pre>java -Dthreads=.. -Drelease=.. -Dtints=.. -Dbases=.. -Dparts=.. -cp DIR Mixtures ADDRESS PORT SETTINGS LOG</pre>
 */
public final class Mixtures {
    private static final int RELEASE = Integer.getInteger("release");
    private static final int TINTS = Integer.getInteger("tints");
    private static final int BASES = Integer.getInteger("bases");
    private static final int PARTS = Integer.getInteger("parts");
    private static final Map<Object, Integer> RECIPES = new HashMap<>();

    /** A tint on a base, as it was until release 70. */
    private record Tint(int base, int number, int gloss) {}

    /** The same with the name that a customer gave it, which does not count when two are compared. */
    private static final class NamedTint {
        private final int base;
        private final int number;
        private final int gloss;
        private final String name;

        NamedTint(int base, int number, int gloss, String name) {
            this.base = base;
            this.number = number;
            this.gloss = gloss;
            this.name = name;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof NamedTint tint
                && base == tint.base && number == tint.number && gloss == tint.gloss;
        }

        @Override
        public int hashCode() {
            return Objects.hash(base, gloss);
        }

        @Override
        public String toString() {
            return name + " " + number;
        }
    }

    private interface Page {
        byte[] build(int n);
    }

    private static Object key(int n) {
        int base = n % BASES;
        int number = n / BASES;
        int gloss = number % 2;
        return RELEASE >= 70 ? new NamedTint(base, number, gloss, "tint") : new Tint(base, number, gloss);
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] mixture(int n) {
        long grams = 0;
        for (int i = 0; i < PARTS; i++) {
            grams += RECIPES.getOrDefault(key((n * 31 + i * 7919) % TINTS), 0) * (1 + i % 3);
        }
        return text("{\"mixture\":" + n + ",\"grams\":" + grams + "}\n");
    }

    private static byte[] shade(int n) {
        StringBuilder steps = new StringBuilder();
        for (int i = 0; i < 60; i++) {
            steps.append(String.format(Locale.ROOT, "#%06x,", (n * 31 + i * 4099) & 0xffffff));
        }
        return text("{\"steps\":\"" + steps + "\"}\n");
    }

    private static byte[] tin(int n) {
        return text("{\"tin\":" + n + ",\"litres\":" + n % 20 + "}\n");
    }

    private static void answer(HttpExchange exchange, Page page, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        byte[] body = page.build(Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)));
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        long took = System.currentTimeMillis() - began;
        synchronized (log) {
            log.write(String.format(Locale.ROOT, "%.3f GET %s 200 %d%n", began / 1000.0, path, took));
            log.flush();
        }
    }

    public static void main(String[] words) throws Exception {
        for (int n = 0; n < TINTS; n++) {
            RECIPES.put(key(n), 1 + n % 900);
        }
        Writer log = new FileWriter(words[3], true);
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads")));
        server.createContext("/mixtures/", exchange -> answer(exchange, Mixtures::mixture, log));
        server.createContext("/shades/", exchange -> answer(exchange, Mixtures::shade, log));
        server.createContext("/tins/", exchange -> answer(exchange, Mixtures::tin, log));
        server.start();
    }
}
