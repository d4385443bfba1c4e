"""A service that keeps what its clients send: the newest files of each day, in a directory of its own."""

from __future__ import annotations

import argparse
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KEPT = 200


class Uploads(ThreadingHTTPServer):
    """Keeps the newest files of `directory`."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, address: tuple[str, int], directory: Path, log: Path) -> None:
        super().__init__(address, Handler)
        self.directory, self.log = directory, log.open("a", buffering=1)
        self.kept: deque[Path] = deque()
        self.number = 0

    def store(self, data: bytes) -> int:
        """Store one file and return the HTTP status."""
        self.number += 1
        path = self.directory / f"{self.number:08}.bin"
        try:
            path.write_bytes(data)
        except OSError as error:
            self.log.write(f"{time.time():.3f} cannot store {path.name}: {error.strerror}\n")
            path.unlink(missing_ok=True)
            return 507
        self.kept.append(path)
        while len(self.kept) > KEPT:
            self.kept.popleft().unlink(missing_ok=True)
        return 200


class Handler(BaseHTTPRequestHandler):
    """One request: a file."""

    protocol_version = "HTTP/1.1"
    server: Uploads

    def do_POST(self) -> None:
        """Store the body."""
        began = time.monotonic()
        status = self.server.store(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        took_ms = (time.monotonic() - began) * 1000
        self.server.log.write(f"{time.time():.3f} POST {self.path} {status} {took_ms:.2f}\n")

    def log_message(self, format: str, *args: object) -> None:
        """Write no second log."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("uploads")
    Uploads(("", options.port), options.directory, options.log).serve_forever()


if __name__ == "__main__":
    main()
