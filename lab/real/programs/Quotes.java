import com.sun.net.httpserver.HttpServer;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Quotes of insurance tariffs: java Quotes ADDRESS PORT THREADS OBJECTS, where each quote creates OBJECTS objects. */
public final class Quotes {
    private record Tariff(String name, double base, double[] factors) {}

    public static void main(String[] words) throws Exception {
        int objects = Integer.parseInt(words[3]);
        Map<Integer, Tariff> tariffs = new HashMap<>();
        Random random = new Random(7);
        for (int index = 0; index < 5000; index++) {
            tariffs.put(index, new Tariff("tariff " + index, random.nextDouble() * 100, random.doubles(24).toArray()));
        }
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        ExecutorService pool = Executors.newFixedThreadPool(Integer.parseInt(words[2]));
        server.setExecutor(pool);
        server.createContext("/", exchange -> {
            int number = Math.floorMod(exchange.getRequestURI().getPath().hashCode(), tariffs.size());
            List<String> lines = new ArrayList<>();
            for (int index = 0; index < objects; index++) {
                Tariff tariff = tariffs.get((number + index) % tariffs.size());
                lines.add(tariff.name() + ": " + tariff.base() * tariff.factors()[index % 24]);
            }
            byte[] body = String.join("\n", lines.subList(0, Math.min(30, lines.size()))).getBytes();
            exchange.getResponseHeaders().set("Connection", "close");
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.start();
    }
}
