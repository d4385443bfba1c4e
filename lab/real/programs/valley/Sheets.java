import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.zip.Deflater;

/**
 * Maps of a publisher: a sheet is painted and packed for each request, a route and a hut are in memory.
 *
 * <pre>java -Dthreads=.. -Drelease=.. -Droutes=.. -Dpixels=.. -cp DIR Sheets ADDRESS PORT SETTINGS ACCESS_LOG</pre>
 */
public final class Sheets {
    /** Since this release, a sheet is painted where the packer can read it without a copy. */
    private static final int WITHOUT_COPY = 30;
    private static final boolean DIRECT = Integer.getInteger("release") >= WITHOUT_COPY;
    private static final int PIXELS = Integer.getInteger("pixels");
    private static final Route[] ROUTES = new Route[Integer.getInteger("routes")];
    private static final ThreadLocal<ByteBuffer> CANVAS = ThreadLocal.withInitial(() -> ByteBuffer.allocate(PIXELS));

    private record Point(int east, int north, int height) {}

    private record Route(int id, String title, Point[] points) {}

    private interface Page {
        byte[] build(int n) throws Exception;
    }

    private static Route survey(int id) {
        Point[] points = new Point[24];
        for (int i = 0; i < points.length; i++) {
            points[i] = new Point(id * 31 + i * 7, id * 17 + i * 5, 300 + (id + i * 13) % 2400);
        }
        return new Route(id, "Route " + id + " of the valley", points);
    }

    private static byte[] sheet(int n) {
        ByteBuffer canvas = DIRECT ? ByteBuffer.allocateDirect(PIXELS) : CANVAS.get().clear();
        int shade = n;
        while (canvas.remaining() >= 4) {
            shade = (canvas.position() & 1023) == 0 ? shade * 1_103_515_245 + 12_345 : shade;
            canvas.putInt(shade);
        }
        Deflater packer = new Deflater(Deflater.BEST_SPEED);
        packer.setInput(canvas.flip());
        packer.finish();
        byte[] packed = new byte[16_384];
        int length = packer.deflate(packed);
        packer.end();
        return java.util.Arrays.copyOf(packed, length);
    }

    private static byte[] route(int n) {
        Route route = ROUTES[n % ROUTES.length];
        StringBuilder text = new StringBuilder("{\"title\":\"").append(route.title()).append("\",\"points\":[");
        for (Point point : route.points()) {
            text.append(String.format(Locale.ROOT, "[%d,%d,%d],", point.east(), point.north(), point.height()));
        }
        return text.append("[]]}\n").toString().getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] hut(int n) {
        Route route = ROUTES[n % ROUTES.length];
        int highest = 0;
        for (Point point : route.points()) {
            highest = Math.max(highest, point.height());
        }
        return ("{\"hut\":" + n + ",\"beds\":" + highest % 60 + "}\n").getBytes(StandardCharsets.UTF_8);
    }

    private static void answer(HttpExchange exchange, Page page, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int status = 200;
        byte[] body;
        try {
            body = page.build(Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)));
        } catch (Exception | OutOfMemoryError error) {
            status = 503;
            body = String.valueOf(error).getBytes(StandardCharsets.UTF_8);
        }
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        long took = System.currentTimeMillis() - began;
        synchronized (log) {
            log.write(String.format(Locale.ROOT, "%.3f GET %s %d %d%n", began / 1000.0, path, status, took));
            log.flush();
        }
    }

    public static void main(String[] words) throws Exception {
        for (int id = 0; id < ROUTES.length; id++) {
            ROUTES[id] = survey(id);
        }
        Writer log = new FileWriter(words[3], true);
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads")));
        server.createContext("/sheets/", exchange -> answer(exchange, Sheets::sheet, log));
        server.createContext("/routes/", exchange -> answer(exchange, Sheets::route, log));
        server.createContext("/huts/", exchange -> answer(exchange, Sheets::hut, log));
        server.start();
    }
}
