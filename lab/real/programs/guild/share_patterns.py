"""Sends the file of patterns to another host of the company, again and again.

No pattern changes while it is read: `--first copy` reads it at once and then sends, `--first send` sends what it reads.
"""

from __future__ import annotations

import argparse
import fcntl
import socket
import time
from pathlib import Path

PIECE_BYTES = 16_384


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", required=True)
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--first", choices=("copy", "send"), required=True)
    parser.add_argument("--bytes-per-s", type=float, required=True)
    parser.add_argument("--pause-s", type=float, required=True)
    options = parser.parse_args()
    while True:
        with Path(options.file).open("r+b") as patterns:
            fcntl.lockf(patterns, fcntl.LOCK_EX)
            if options.first == "copy":
                content = patterns.read()
                fcntl.lockf(patterns, fcntl.LOCK_UN)
                pieces = [content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES)]
                for piece in pieces:
                    send_piece(options, piece)
            else:
                while piece := patterns.read(PIECE_BYTES):
                    send_piece(options, piece)
        time.sleep(options.pause_s)


def send_piece(options: argparse.Namespace, piece: bytes) -> None:
    """Send a part of the file, no faster than the line of the other host."""
    address, port = options.to.rsplit(":", 1)
    with socket.create_connection((address, int(port)), timeout=5) as line:
        line.sendall(
            b"POST /patterns HTTP/1.1\r\nHost: branch\r\nContent-Length: %d\r\n\r\n" % len(piece) + piece
        )
    time.sleep(len(piece) / options.bytes_per_s)


if __name__ == "__main__":
    main()
