"""Search in scores of choirs: GET /search/<n> looks a word up in an index that is kept in memory.

The file --settings (JSON: megabytes, the size of the index) is read at the start and on SIGHUP; then the index is
built again in place of the former.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PART_BYTES = 1 << 20


class ScoreIndex:
    """Parts of the index, each of a megabyte."""

    def __init__(self, settings: Path) -> None:
        self.settings = settings
        self.parts: list[bytes] = []
        self.lock = threading.Lock()

    def build_parts(self) -> None:
        """Bring the index to the size that the settings name, a few megabytes at a time."""
        parts_of_edition = int(json.loads(self.settings.read_text())["megabytes"])
        source = random.Random(parts_of_edition)
        with self.lock:
            del self.parts[parts_of_edition:]
            while len(self.parts) < parts_of_edition:
                self.parts.append(source.randbytes(PART_BYTES))

    def look_up(self, number: int) -> str:
        """Return what the index has of a word."""
        part = self.parts[number % len(self.parts)]
        at = number * 4096 % PART_BYTES
        return hashlib.sha256(part[at : at + 4096]).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--settings", type=Path, required=True)
    options = parser.parse_args()
    index = ScoreIndex(options.settings)
    index.build_parts()
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=index.build_parts).start())

    class SearchHandler(BaseHTTPRequestHandler):
        """Answers a request for a word."""

        def do_GET(self) -> None:
            body = index.look_up(int(self.path.rpartition("/")[2] or 0)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    host, port = options.listen.split(":")
    ThreadingHTTPServer((host, int(port)), SearchHandler).serve_forever()


if __name__ == "__main__":
    main()
