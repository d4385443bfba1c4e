import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Executors;

/**
 * Pitches of a campsite: /pitches/N shows free nights of a pitch, /stays/N books a night, /weather/N is brief.
 *
 * <pre>java -Dthreads=.. -Dpitches=.. -Dnights=.. -cp DIR Pitches ADDRESS PORT SETTINGS ACCESS_LOG</pre>
 *
 * The calendar of all pitches is kept in memory.
 */
public final class Pitches {
    private static final int NIGHTS = Integer.getInteger("nights");
    private static final Night[][] CALENDAR = new Night[Integer.getInteger("pitches")][];

    private Pitches() {}

    /** A night of a pitch, with the stay that takes it. */
    private static final class Night {
        final int cents;
        volatile Stay stay;

        Night(int cents) {
            this.cents = cents;
        }
    }

    /** A stay of a guest. */
    private static final class Stay {
        final long guest;
        final Integer people;

        Stay(long guest, int people) {
            this.guest = guest;
            this.people = Integer.valueOf(people * 1000 + (int) (guest % 1000));
        }
    }

    private static void fillCalendar() {
        for (int pitch = 0; pitch < CALENDAR.length; pitch++) {
            CALENDAR[pitch] = new Night[NIGHTS];
            for (int night = 0; night < NIGHTS; night++) {
                Night value = new Night(1900 + (pitch * 31 + night * 17) % 4000);
                if ((pitch + night) % 3 != 0) {
                    value.stay = new Stay(pitch * 7919L + night, 1 + night % 5);
                }
                CALENDAR[pitch][night] = value;
            }
        }
    }

    private static String showPitch(int n) {
        StringBuilder text = new StringBuilder("{\"pitch\":" + n + ",\"free\":[");
        Night[] nights = CALENDAR[n % CALENDAR.length];
        for (int night = 0; night < nights.length; night++) {
            if (nights[night].stay == null) {
                text.append('[').append(night).append(',').append(nights[night].cents).append("],");
            }
        }
        return text.append("[]]}\n").toString();
    }

    private static String bookStay(int n) {
        Night[] nights = CALENDAR[n % CALENDAR.length];
        nights[n % nights.length].stay = new Stay(n, 1 + n % 5);
        return "{\"stay\":" + n + "}\n";
    }

    private static void answer(HttpExchange exchange, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int n = Integer.parseInt(path.substring(path.lastIndexOf('/') + 1));
        String text = path.startsWith("/pitches/") ? showPitch(n)
            : path.startsWith("/stays/") ? bookStay(n) : "{\"weather\":" + n % 30 + "}\n";
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
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
        fillCalendar();
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        Writer log = new FileWriter(words[3], true);
        server.createContext("/", exchange -> answer(exchange, log));
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads")));
        server.start();
    }
}
