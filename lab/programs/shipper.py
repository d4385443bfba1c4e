"""Ships readings as datagrams, evenly or a heap of them at a time, over one socket or over a new one for each."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import socket
import time
from pathlib import Path

AT_ONCE = 8
BUFFER_BYTES = 4 << 20
SO_SNDBUFFORCE = 32  # beyond wmem_max, as root


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--burst", type=int, default=1, help="readings that are sent together")
    parser.add_argument("--every-ms", type=float, default=100.0, help="from one burst to the next")
    parser.add_argument("--spread-ms", type=float, default=0.0, help="how long a burst takes")
    parser.add_argument("--reading-bytes", type=int, default=200)
    parser.add_argument("--fresh", action="store_true", help="a socket, and so a port, for every reading")
    parser.add_argument("--name", default="shipper")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text(options.name[:15])
    address, port = options.to.split(":")
    destination, reading = (address, int(port)), b"r" * options.reading_bytes
    with _socket() as stored:
        begin = time.monotonic()
        for number in itertools.count(1):
            burst_at = time.monotonic()
            for sent in range(options.burst):
                if sent % AT_ONCE == 0:
                    time.sleep(
                        max(
                            0.0, burst_at + options.spread_ms / 1000 * sent / options.burst - time.monotonic()
                        )
                    )
                with _socket() if options.fresh else contextlib.nullcontext(stored) as sock:
                    sock.sendto(reading, destination)
            time.sleep(max(0.0, begin + number * options.every_ms / 1000 - time.monotonic()))


def _socket() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES)
    return sock


if __name__ == "__main__":
    main()
