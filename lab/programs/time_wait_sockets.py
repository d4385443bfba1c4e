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
SPARE_MOST = 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--spare", type=int, default=0)
    parser.add_argument(
        "--spare-odd", type=int, choices=(0, 1), default=1, help="whether spare ones are odd in the range"
    )
    parser.add_argument("--name", default="batch")
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text(options.name[:15])
    address, port = options.to.split(":")
    destination = (address, int(port))
    spared = _spare(options.spare, options.spare_odd)
    ports = _fill(destination, options.count)
    for sock in spared:
        sock.close()
    Path(options.log).write_text(f"{time.time():.3f} ok {len(ports)}\n")
    while True:
        for number, began in list(ports.items()):
            time.sleep(max(0.0, began + RENEW_AFTER_S - time.monotonic()))
            _renew(destination, number)
            ports[number] = time.monotonic()


def _spare(count: int, odd: int) -> list[socket.socket]:
    """Ports that stay free for others: bound while the rest is taken, which keeps connect() off them.

    connect() searches the even ones of the range first, bind() the odd ones.
    """
    low, high = _range()
    results = []
    for number in range(count):
        sock = socket.socket()
        offset = (high - low) * (2 * number + 1) // (2 * count)
        sock.bind(("0.0.0.0", low + (offset & ~1) + odd))
        results.append(sock)
    return results


def _fill(destination: tuple[str, int], count: int) -> dict[int, float]:
    """When each local port was used.

    connect() takes every second port first and is slow from then on, as it searches that half in vain each
    time; so the other half is named port by port.
    """
    ports: dict[int, float] = {}
    low, high = _range()
    while len(ports) < (count or (high - low) // 2 - SPARE_MOST):
        with socket.socket() as sock:
            sock.connect(destination)
            ports[sock.getsockname()[1]] = time.monotonic()
    for number in range(low, high + 1) if not count else ():
        if number not in ports and _renew(destination, number):
            ports[number] = time.monotonic()
    return ports


def _range() -> tuple[int, int]:
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    return low, high


def _renew(destination: tuple[str, int], number: int) -> bool:
    """Use port `number`, unless another process does."""
    with contextlib.suppress(OSError), socket.socket() as sock:
        sock.bind(("0.0.0.0", number))
        sock.connect(destination)
        return True
    return False


if __name__ == "__main__":
    main()
