import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;

/**
 * The labels of parcels: a label has a number of the carrier, a receipt is drawn here.
 *
 * <pre>java -cp DIR Labels ADDRESS PORT SETTINGS ACCESS_LOG</pre>
 *
 * Settings are properties and are read again when the file changes: threads (at the start only), carrier (its
 * address), work (rounds of hashing), receipts (whether the carrier's answers are kept for the audit at night).
 */
public final class Labels {
    private static volatile Properties settings = new Properties();
    private static final Queue<Answer> AUDIT = new ConcurrentLinkedQueue<>();
    private static FileWriter log;

    /** An answer of the carrier, with the connection from which it is read. */
    private static final class Answer {
        final Socket socket;
        final BufferedReader reader;
        String number = "";

        Answer(String address) throws IOException {
            int colon = address.indexOf(':');
            socket = new Socket();
            socket.setSoTimeout(10_000);
            socket.connect(
                new InetSocketAddress(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1))), 5000);
            reader = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
        }

        void ask(int n) throws IOException {
            String head = "GET /numbers/" + n + " HTTP/1.1\r\nHost: carrier\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
            String line;
            while ((line = reader.readLine()) != null && !line.isEmpty()) {
                continue;
            }
            number = String.valueOf(reader.readLine());
        }
    }

    private interface Page {
        String build(int n) throws Exception;
    }

    private static void load(Path path) throws IOException {
        Properties next = new Properties();
        try (InputStream in = Files.newInputStream(path)) {
            next.load(in);
        }
        settings = next;
    }

    private static String receipt(int n) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] text = ("receipt " + n).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < Integer.parseInt(settings.getProperty("work")); i++) {
            text = digest.digest(text);
        }
        return "receipt " + n + text[0];
    }

    private static String label(int n) throws Exception {
        Answer answer = new Answer(settings.getProperty("carrier"));
        if (Boolean.parseBoolean(settings.getProperty("receipts"))) {
            AUDIT.add(answer);
            answer.ask(n);
        } else {
            try (Socket socket = answer.socket) {
                answer.ask(n);
            }
        }
        return receipt(n) + answer.number.length();
    }

    private static void answer(HttpExchange exchange, Page page) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int status = 200;
        String text;
        try {
            text = page.build(Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)));
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
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(settings.getProperty("threads"))));
        server.createContext("/labels/", exchange -> answer(exchange, Labels::label));
        server.createContext("/receipts/", exchange -> answer(exchange, Labels::receipt));
        server.start();
        long last = Files.getLastModifiedTime(path).toMillis();
        while (true) {
            Thread.sleep(300);
            try {
                long changed = Files.getLastModifiedTime(path).toMillis();
                if (changed != last) {
                    last = changed;
                    load(path);
                }
            } catch (IOException error) {
                continue;
            }
        }
    }
}
