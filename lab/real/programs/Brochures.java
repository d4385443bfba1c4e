import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32;

/**
 * Brochures of a travel agency: a brochure is laid out in memory, page by page, and sent as a summary; a hotel is one
 * small text. Properties: pageKilobytes, pages (of a brochure), kept (texts that stay in memory).
 */
@WebServlet("/*")
public class Brochures extends HttpServlet {
    private static final int PAGES = Integer.getInteger("pages", 12);
    private static final int PAGE_BYTES = 1024 * Integer.getInteger("pageKilobytes", 40);
    private static final int KEPT = Integer.getInteger("kept", 3000);
    private final Map<Integer, byte[]> texts = new ConcurrentHashMap<>();

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String[] words = request.getRequestURI().split("/");
        int number = words.length > 2 ? Integer.parseInt(words[2]) : 0;
        String body;
        if (words.length > 1 && words[1].equals("brochures")) {
            body = "{\"brochure\": " + number + ", \"checksum\": " + layOut(number) + "}";
        } else {
            byte[] text = texts.computeIfAbsent(number % KEPT, key -> new byte[6000 + key % 4000]);
            body = "{\"hotel\": " + number + ", \"characters\": " + text.length + "}";
        }
        response.setContentType("application/json");
        response.setContentLength(body.length());
        response.getOutputStream().print(body);
    }

    private static long layOut(int number) {
        byte[][] pages = new byte[PAGES][];
        CRC32 checksum = new CRC32();
        for (int page = 0; page < PAGES; page++) {
            pages[page] = new byte[PAGE_BYTES];
            for (int at = 0; at < PAGE_BYTES; at += 64) {
                pages[page][at] = (byte) (number + page + at);
            }
            checksum.update(pages[page], 0, 2048);
        }
        return checksum.getValue();
    }
}
