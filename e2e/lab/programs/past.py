"""Leaves TIME_WAIT sockets behind, as a day of short connections does, and keeps their number up.

Takes every free port of the local range towards one destination but `--spare` of them, or `--count` ports, and
renews each when the kernel has forgotten it, after a minute. Prints one line when the first round is done.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import time
from pathlib import Path

RENEW_AFTER_S = 60.5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--spare", type=int, default=0)
    parser.add_argument("--name", default="batch")
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text(options.name[:15])
    address, port = options.to.split(":")
    destination = (address, int(port))
    spared = _spare(options.spare)
    ports = _fill(destination, options.count)
    for sock in spared:
        sock.close()
    Path(options.log).write_text(f"{time.time():.3f} ok {len(ports)}\n")
    while True:
        for number, began in list(ports.items()):
            time.sleep(max(0.0, began + RENEW_AFTER_S - time.monotonic()))
            _renew(destination, number)
            ports[number] = time.monotonic()


def _spare(count: int) -> list[socket.socket]:
    """Ports that stay free for others: bound while the rest is taken, which keeps connect() off them."""
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    found = []
    for number in range(count):
        sock = socket.socket()
        sock.bind(("0.0.0.0", low + (high - low) * (2 * number + 1) // (2 * count)))
        found.append(sock)
    return found


def _fill(destination: tuple[str, int], count: int) -> dict[int, float]:
    """When each local port was used."""
    ports: dict[int, float] = {}
    while not count or len(ports) < count:
        with socket.socket() as sock:
            try:
                sock.connect(destination)
            except OSError:
                break
            ports[sock.getsockname()[1]] = time.monotonic()
    return ports


def _renew(destination: tuple[str, int], number: int) -> None:
    with contextlib.suppress(OSError), socket.socket() as sock:
        sock.bind(("0.0.0.0", number))
        sock.connect(destination)


if __name__ == "__main__":
    main()
