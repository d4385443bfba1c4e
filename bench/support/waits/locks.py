"""Six threads behind one lock, which is a semaphore of glibc."""

import threading
import time

LOCK = threading.Lock()


def hold_lock() -> None:
    """Hold the lock for five milliseconds."""
    while True:
        with LOCK:
            time.sleep(0.005)


for _ in range(6):
    threading.Thread(target=hold_lock).start()
