"""A stock service that others ask: one request, one answer, then it closes. From some moment on it may be slow.

SIGUSR1 makes it slow, SIGUSR2 quick again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import signal
import socket
import threading
import time
from pathlib import Path


class Stock:
    def __init__(self) -> None:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--listen", required=True, help="address:port")
        parser.add_argument("--slow-ms", type=float, default=0.0)
        parser.add_argument("--slow-every", type=int, default=1, help="only each so many-th answer is slow")
        parser.add_argument("--threads", type=int, default=64)
        self.options = parser.parse_args()
        self.slow = False
        self.requests = itertools.count()

    def run(self) -> None:
        Path("/proc/self/comm").write_text("stock")
        address, port = self.options.listen.split(":")
        listener = socket.create_server((address, int(port)), backlog=1024)
        for _ in range(self.options.threads):
            threading.Thread(target=self.serve, args=(listener,), daemon=True).start()
        signal.signal(signal.SIGUSR1, lambda *_: setattr(self, "slow", True))
        signal.signal(signal.SIGUSR2, lambda *_: setattr(self, "slow", False))
        while True:
            signal.pause()

    def serve(self, listener: socket.socket) -> None:
        while True:
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                peer.settimeout(5)
                if peer.recv(1024):
                    if self.slow and next(self.requests) % self.options.slow_every == 0:
                        time.sleep(self.options.slow_ms / 1e3)
                    peer.sendall(b"HTTP/1.0 200 OK\r\n\r\n17 left\n")


if __name__ == "__main__":
    Stock().run()
