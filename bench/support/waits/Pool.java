import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** A pool of eight threads, of which one has work every ten milliseconds, and four threads behind one monitor. */
public class Pool {
    private static final Object MONITOR = new Object();

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        ScheduledExecutorService clock = Executors.newScheduledThreadPool(1);
        clock.scheduleAtFixedRate(() -> pool.submit(Pool::work), 0, 10, TimeUnit.MILLISECONDS);
        for (int i = 0; i < 4; i++) {
            new Thread(Pool::hold, "holder").start();
        }
    }

    private static void work() {
        long end = System.nanoTime() + 1_000_000;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    private static void hold() {
        while (true) {
            synchronized (MONITOR) {
                try {
                    Thread.sleep(5);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }
    }
}
