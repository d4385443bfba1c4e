import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Executors;

/**
 * Fittings of a tailor: /fittings/N is cut from a pattern of a file that other programs read too, /fabrics/N is brief.
 *
 * <pre>java -Dpatterns=FILE -Dsize=BYTES -Dthreads=.. -cp DIR Fittings ADDRESS PORT SETTINGS LOG</pre>
 */
public final class Fittings {
    private static final String PATTERNS = System.getProperty("patterns");
    private static final int SIZE = Integer.getInteger("size");
    private static final Object PATTERN_GUARD = new Object();

    private Fittings() {}

    /** A pattern; each that is cut is counted at its begin. */
    private static byte[] readPattern(int n) throws IOException {
        byte[] pattern = new byte[SIZE];
        synchronized (PATTERN_GUARD) {
            try (RandomAccessFile file = new RandomAccessFile(PATTERNS, "rw");
                    FileLock lock = file.getChannel().lock()) {
                long place = (n % (file.length() / SIZE)) * SIZE;
                file.seek(place);
                file.readFully(pattern);
                file.seek(place);
                file.write(pattern[0] + 1);
            }
        }
        return pattern;
    }

    private static void answer(HttpExchange exchange, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int n = Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)), sum = n;
        StringBuilder text = new StringBuilder("{\"n\":" + n);
        if (path.startsWith("/fittings/")) {
            for (byte part : readPattern(n)) {
                sum = sum * 31 + part;
            }
        }
        for (int step = 0; step < 60; step++) {
            text.append(",\"piece").append(step).append("\":").append(Math.floorMod(sum + step * 17, 900));
        }
        byte[] body = text.append("}\n").toString().getBytes(StandardCharsets.ISO_8859_1);
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
