import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedInputStream;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Baskets of a tea shop: /baskets/N stores a basket in Redis and publishes it, /teas/N reads a tea from Redis.
 *
 * <pre>java -Dthreads=.. -Dredis=PORT -Devents=HOST:PORT -Dlines=.. -Dwait=MS -cp DIR Baskets ADDRESS PORT SETTINGS LOG</pre>
 *
 * lines: what an event has. wait: how many milliseconds a request waits for its turn to publish.
 */
public final class Baskets {
    private static final int LINES = Integer.getInteger("lines");
    private static final ReentrantLock TURN = new ReentrantLock(true);
    private static final ThreadLocal<Redis> REDIS = ThreadLocal.withInitial(Redis::new);
    private static OutputStream events;

    private Baskets() {}

    /** A connection to Redis. */
    private static final class Redis {
        private final InputStream input;
        private final OutputStream output;

        Redis() {
            try {
                Socket socket = new Socket("127.0.0.1", Integer.getInteger("redis"));
                socket.setTcpNoDelay(true);
                input = new BufferedInputStream(socket.getInputStream());
                output = socket.getOutputStream();
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        String run(String... words) throws IOException {
            StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
            for (String word : words) {
                text.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
            }
            output.write(text.toString().getBytes(StandardCharsets.ISO_8859_1));
            String line = readLine();
            if (line.charAt(0) != '$' || line.equals("$-1")) {
                return line;
            }
            byte[] value = input.readNBytes(Integer.parseInt(line.substring(1)) + 2);
            return new String(value, 0, value.length - 2, StandardCharsets.ISO_8859_1);
        }

        private String readLine() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int next = input.read(); next != '\r'; next = input.read()) {
                if (next < 0) {
                    throw new IOException("Redis closed the connection");
                }
                line.append((char) next);
            }
            input.read();
            return line.toString();
        }
    }

    private static String buildBasket(int n) {
        StringBuilder text = new StringBuilder("{\"basket\":" + n + ",\"lines\":[");
        for (int line = 0; line < LINES; line++) {
            text.append("{\"tea\":").append((n * 31 + line * 17) % 900).append(",\"grams\":").append(50 + line % 200)
                .append(",\"note\":\"").append(Integer.toHexString(n * 7919 + line * 104729)).append("\"},");
        }
        return text.append("{}]}").toString();
    }

    private static boolean publish(String basket) throws IOException, InterruptedException {
        if (!TURN.tryLock(Integer.getInteger("wait"), TimeUnit.MILLISECONDS)) {
            return false;
        }
        try {
            events.write((basket + "\n").getBytes(StandardCharsets.ISO_8859_1));
            events.flush();
            return true;
        } finally {
            TURN.unlock();
        }
    }

    private static void answer(HttpExchange exchange, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int n = Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)), status = 200;
        String text;
        try {
            if (path.startsWith("/baskets/")) {
                String basket = buildBasket(n);
                REDIS.get().run("SET", "basket:" + n % 4000, basket);
                text = "{\"basket\":" + n + "}";
                status = publish(basket) ? 200 : 503;
            } else {
                text = REDIS.get().run("GET", "tea:" + n % 200);
            }
        } catch (IOException | InterruptedException error) {
            REDIS.remove();
            text = error.toString();
            status = 500;
        }
        byte[] body = (text + "\n").getBytes(StandardCharsets.ISO_8859_1);
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
        String[] address = System.getProperty("events").split(":");
        Socket socket = new Socket();
        socket.setSendBufferSize(64 * 1024);
        socket.connect(new InetSocketAddress(address[0], Integer.parseInt(address[1])));
        events = socket.getOutputStream();
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        Writer log = new FileWriter(words[3], true);
        server.createContext("/", exchange -> answer(exchange, log));
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads")));
        server.start();
    }
}
