"""Reports figures of a Redis at regular times, for a dashboard."""

from __future__ import annotations

import argparse
import socket
import time


def read_answer(connection: socket.socket) -> int:
    """Return the size of one answer; it has ended when nothing follows for a moment."""
    connection.settimeout(20.0)
    size = len(connection.recv(65536))
    connection.settimeout(0.05)
    try:
        while chunk := connection.recv(262_144):
            size += len(chunk)
    except TimeoutError:
        pass
    return size


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--every-s", type=float, default=1.0)
    parser.add_argument("--command", required=True)
    options = parser.parse_args()
    address, port = options.to.split(":")
    with socket.create_connection((address, int(port))) as connection:
        while True:
            connection.sendall(options.command.encode() + b"\r\n")
            print(f"{time.time():.0f} {read_answer(connection)} bytes", flush=True)
            time.sleep(options.every_s)


if __name__ == "__main__":
    main()
