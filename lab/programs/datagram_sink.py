"""A server that only takes in datagrams, fast enough or deliberately not."""

from __future__ import annotations

import argparse
import socket
import time
from pathlib import Path

BUFFER_BYTES = 4 << 20
SO_RCVBUFFORCE = 33  # beyond rmem_max, as root


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--name", default="statsd")
    parser.add_argument("--pause-ms", type=float, default=0.0, help="after each datagram")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text(options.name[:15])
    address, port = options.listen.split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        if not options.pause_ms:
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        sock.bind((address, int(port)))
        while True:
            sock.recv(2048)
            if options.pause_ms:
                time.sleep(options.pause_ms / 1000)


if __name__ == "__main__":
    main()
