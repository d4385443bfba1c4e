import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Repairs of bicycles: an offer asks several workshops at a time, an advice is computed here.
 *
 * <pre>java -Dthreads=.. -Drelease=.. -Dpartner=ADDRESS:PORT -Dworkshops=.. -Dwork=.. -cp DIR Workshops ADDRESS PORT</pre>
 */
public final class Workshops {
    /** Since this release, each offer has workers of its own, so that a slow workshop delays no other offer. */
    private static final int OWN_WORKERS = 20;
    private static final int WORKSHOPS = Integer.getInteger("workshops");
    private static final String PARTNER = System.getProperty("partner");
    private static final ExecutorService SHARED = Executors.newFixedThreadPool(Integer.getInteger("threads"));
    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
        .executor(Executors.newFixedThreadPool(2)).build();

    private interface Page {
        String build(int n) throws Exception;
    }

    private static String compute(int n) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] text = ("advice " + n).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < Integer.getInteger("work"); i++) {
            text = digest.digest(text);
        }
        return "advice " + n + text[0];
    }

    private static String request(String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + PARTNER + path))
            .timeout(Duration.ofSeconds(5)).build();
        return CLIENT.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    private static String offer(int n) throws Exception {
        ExecutorService workers =
            Integer.getInteger("release") >= OWN_WORKERS ? Executors.newFixedThreadPool(WORKSHOPS) : SHARED;
        List<Future<String>> answers = new ArrayList<>();
        for (int i = 0; i < WORKSHOPS; i++) {
            String path = "/workshops/" + i + "/" + n;
            answers.add(workers.submit(() -> request(path)));
        }
        int length = 0;
        for (Future<String> answer : answers) {
            length += answer.get(5, TimeUnit.SECONDS).length();
        }
        return compute(n) + length;
    }

    private static void answer(HttpExchange exchange, Page page) throws IOException {
        String path = exchange.getRequestURI().getPath();
        int status = 200;
        String text;
        try {
            text = page.build(Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)));
        } catch (Throwable error) {
            status = 503;
            text = String.valueOf(error);
        }
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] words) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads")));
        server.createContext("/offers/", exchange -> answer(exchange, Workshops::offer));
        server.createContext("/advice/", exchange -> answer(exchange, Workshops::compute));
        server.start();
    }
}
