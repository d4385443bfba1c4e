import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;

/**
 * Timetables of schools: /weeks/N and /terms/N are pages whose parts have layouts, each in a class loader of its own.
 *
 * <pre>java -Drelease=.. -Dparts=.. -Dlessons=.. -Dthreads=.. -cp DIR Timetables ADDRESS PORT SETTINGS LOG</pre>
 *
 * release: from 40 on, a layout belongs to the edition of a page, and each page that is shown is an edition.
 * parts: of a page. lessons: how many are kept in memory.
 */
public final class Timetables {
    private static final int PARTS = Integer.getInteger("parts"), LESSONS = Integer.getInteger("lessons");
    private static final int SCHOOLS = 12, KEPT = 400;
    private static final boolean EDITIONS = Integer.getInteger("release") >= 40;
    private static final AtomicLong EDITION = new AtomicLong();
    private static final Lesson[] KNOWN = new Lesson[LESSONS];
    private static final Map<String, Layout> LAYOUTS = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Layout> eldest) {
            return size() > KEPT;
        }
    };

    private Timetables() {}

    /** A lesson of a school. */
    private record Lesson(int id, int day, String room) {}

    /** The lesson with this number, as text. */
    public static String describeLesson(int number) {
        Lesson lesson = KNOWN[Math.floorMod(number, LESSONS)];
        return lesson.id() + " " + lesson.room();
    }

    /** How a part of a page looks. */
    public interface Layout {
        String render(int n, String title);
    }

    /** Rows of a part. */
    public static final class Rows implements Layout {
        @Override
        public String render(int n, String title) {
            StringBuilder text = new StringBuilder("<table title=\"").append(title).append("\">");
            for (int row = 0; row < 5 + n % 4; row++) {
                text.append(new Cells(n + row).write());
            }
            return new Frame(text.append("</table>").toString()).close(n);
        }
    }

    /** Cells of a row. */
    public static final class Cells {
        private final int n;

        public Cells(int n) {
            this.n = n;
        }

        public String write() {
            StringBuilder text = new StringBuilder("<tr>");
            for (int day = 0; day < 5; day++) {
                text.append("<td>").append(describeLesson(n * 7919 + day * 104729)).append("</td>");
            }
            return text.append("</tr>\n").toString();
        }
    }

    /** What surrounds a part. */
    public static final class Frame {
        private final String inside;

        public Frame(String inside) {
            this.inside = inside;
        }

        public String close(int n) {
            CRC32 sum = new CRC32();
            sum.update(inside.getBytes(StandardCharsets.ISO_8859_1));
            return "<section id=\"" + Long.toHexString(sum.getValue()) + "\" lang=\"" + n % 3 + "\">" + inside + "</section>\n";
        }
    }

    /** Loads the classes of a layout apart from those of other layouts. */
    private static final class LayoutLoader extends ClassLoader {
        LayoutLoader() {
            super(Timetables.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.matches("Timetables\\$(Rows|Cells|Frame)")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            try (InputStream file = getParent().getResourceAsStream(name + ".class")) {
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    private static Layout findLayout(String page, int part) {
        String key = page + "/" + part;
        synchronized (LAYOUTS) {
            Layout layout = LAYOUTS.get(key);
            if (layout == null) {
                try {
                    layout = (Layout) new LayoutLoader().loadClass("Timetables$Rows").getConstructor().newInstance();
                } catch (ReflectiveOperationException error) {
                    throw new IllegalStateException(error);
                }
                LAYOUTS.put(key, layout);
            }
            return layout;
        }
    }

    private static void answer(HttpExchange exchange, Writer log) throws IOException {
        long began = System.currentTimeMillis();
        String path = exchange.getRequestURI().getPath();
        int n = Integer.parseInt(path.substring(path.lastIndexOf('/') + 1)), status = 200;
        StringBuilder text = new StringBuilder();
        try {
            String page = "school " + n % SCHOOLS + (EDITIONS ? " edition " + EDITION.incrementAndGet() : "");
            for (int part = 0; part < PARTS; part++) {
                text.append(findLayout(page, part).render(n + part, page));
            }
        } catch (RuntimeException | OutOfMemoryError error) {
            status = 500;
        }
        byte[] body = text.toString().getBytes(StandardCharsets.ISO_8859_1);
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        long now = System.currentTimeMillis();
        synchronized (log) {
            log.write(String.format(Locale.ROOT, "%.3f GET %s %d %d%n", now / 1000.0, path, status, now - began));
            log.flush();
        }
    }

    public static void main(String[] words) throws IOException {
        for (int id = 0; id < LESSONS; id++) {
            KNOWN[id] = new Lesson(id, id % 5, "R" + id % 977);
        }
        HttpServer server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 1024);
        Writer log = new FileWriter(words[3], true);
        server.createContext("/", exchange -> answer(exchange, log));
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("threads")));
        server.start();
    }
}
