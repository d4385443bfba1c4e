"""A log server that writes the lines of other hosts to a file, for as long as its file DIRECTORY/open exists.

log_server.py --listen 10.80.0.2:5140 --directory DIRECTORY
"""

from __future__ import annotations

import argparse
import socket
import threading
import time
from pathlib import Path

BUFFER_BYTES = 32768


def store_lines(peer: socket.socket, directory: Path) -> None:
    """Append what a host sends, until it closes."""
    with peer, (directory / "hosts.log").open("ab") as file:
        while True:
            while not (directory / "open").exists():
                time.sleep(0.2)
            if not (data := peer.recv(BUFFER_BYTES)):
                return
            file.write(data)
            file.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--directory", type=Path, required=True)
    options = parser.parse_args()
    address, port = options.listen.rsplit(":", 1)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    listener.bind((address, int(port)))
    listener.listen(64)
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=store_lines, args=(peer, options.directory), daemon=True).start()


if __name__ == "__main__":
    main()
