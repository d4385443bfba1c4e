import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.Executors;

/**
 * An order service on the JVM; every knob is a system property.
 *
 * <pre>java -Dport=8080 -Dthreads=16 -DauditMs=4 -Dserialized=true -DkeepKb=512 -cp DIR Orders</pre>
 *
 * port: where it listens. threads: size of its pool. auditMs: every order waits that long for an audit;
 * serialized: all orders wait for it one after the other. keepKb: heap that an order never releases;
 * keepMb: the most that is kept (0 = no bound, so the heap fills).
 * bufferKb: memory outside the heap that an order takes; reuseBuffers: it is used again, else it is kept.
 */
public final class Orders {
    private static final Object AUDIT = new Object();
    private static final ArrayDeque<byte[]> HISTORY = new ArrayDeque<>();
    private static final ArrayDeque<ByteBuffer> BUFFERS = new ArrayDeque<>();
    private static long historyKb;

    public static void main(String[] words) throws IOException {
        int auditMs = Integer.getInteger("auditMs", 0);
        int keepKb = Integer.getInteger("keepKb", 0);
        long keepMb = Integer.getInteger("keepMb", 0);
        int bufferKb = Integer.getInteger("bufferKb", 0);
        boolean reuse = Boolean.getBoolean("reuseBuffers");
        boolean serialized = Boolean.getBoolean("serialized");
        HttpServer server = HttpServer.create(new InetSocketAddress(Integer.getInteger("port", 8080)), 1024);
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads", 16)));
        server.createContext("/", exchange -> {
            if (auditMs > 0 && serialized) auditInOrder(auditMs);
            else if (auditMs > 0) audit(auditMs);
            if (bufferKb > 0) render(bufferKb, reuse);
            if (keepKb > 0) remember(keepKb, keepMb * 1024);
            byte[] body = "ordered\n".getBytes();
            exchange.getResponseHeaders().set("Connection", "close");
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.start();
    }

    private static void auditInOrder(int ms) {
        synchronized (AUDIT) {
            audit(ms);
        }
    }

    private static void audit(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private static synchronized void render(int kb, boolean reuse) {
        ByteBuffer page = reuse && !BUFFERS.isEmpty() ? BUFFERS.remove() : ByteBuffer.allocateDirect(kb * 1024);
        for (int i = 0; i < kb * 1024; i += 512) page.put(i, (byte) i);
        BUFFERS.add(page);
    }

    private static synchronized void remember(int kb, long mostKb) {
        byte[] order = new byte[kb * 1024];
        for (int i = 0; i < order.length; i += 512) order[i] = (byte) i;
        HISTORY.add(order);
        historyKb += kb;
        while (mostKb > 0 && historyKb > mostKb) historyKb -= HISTORY.remove().length / 1024;
    }
}
