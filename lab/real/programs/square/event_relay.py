"""Stores events of shops: reads lines of each connection, and takes store_ms for each of them.

The file --settings (JSON: store_ms) is read again when it changes.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
from pathlib import Path

BUFFER_BYTES = 32_768


class RelaySettings:
    """The settings, as of the last half second."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.read_file()
        threading.Thread(target=self._watch_file, daemon=True).start()

    def read_file(self) -> None:
        """Read the settings."""
        self.store_s = float(json.loads(self.file.read_text())["store_ms"]) / 1000

    def _watch_file(self) -> None:
        while True:
            time.sleep(0.5)
            self.read_file()


def store_events(connection: socket.socket, settings: RelaySettings) -> None:
    """Read and store the events of a connection until it is closed."""
    with connection, connection.makefile("rb", buffering=BUFFER_BYTES) as lines:
        due = time.monotonic()
        for _ in lines:
            due = max(time.monotonic(), due + settings.store_s)
            time.sleep(max(0.0, due - time.monotonic()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--settings", required=True, type=Path)
    options = parser.parse_args()
    settings = RelaySettings(options.settings)
    address, port = options.listen.split(":")
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        server.bind((address, int(port)))
        server.listen(64)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=store_events, args=(connection, settings), daemon=True).start()


if __name__ == "__main__":
    main()
