"""Runs a program as a container engine does: its output is a pipe, whose lines go to a collector over TCP.

    python3 forwarder.py --to 10.0.0.2:5140 -- program argument ...

No line is dropped: while the collector is away, the forwarder tries again every few seconds and reads nothing.
As a collector (--listen instead of --to), it reads lines and forgets them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

CHUNK_BYTES = 16384


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", default="", help="address:port of the collector")
    parser.add_argument("--listen", default="", help="address:port: be the collector")
    parser.add_argument("--retry-s", type=float, default=5.0)
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("collector" if options.listen else "forwarder")
    if options.listen:
        collect_lines(options.listen)
    else:
        forward_output(options)


def forward_output(options: argparse.Namespace) -> None:
    read_end, write_end = os.pipe()
    program = subprocess.Popen(options.command, stdout=write_end)
    os.close(write_end)
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    collector: socket.socket | None = None
    while lines := os.read(read_end, CHUNK_BYTES):
        while True:
            try:
                collector = collector or _connect(options.to)
                collector.sendall(lines)
                break
            except OSError:
                collector = None
                time.sleep(options.retry_s)


def _connect(to: str) -> socket.socket:
    address, _, port = to.rpartition(":")
    return socket.create_connection((address, int(port)), timeout=3)


def collect_lines(listen: str) -> None:
    address, _, port = listen.rpartition(":")
    listener = socket.create_server((address, int(port)))
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_read_all, args=(connection,), daemon=True).start()


def _read_all(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        while connection.recv(CHUNK_BYTES):
            pass


if __name__ == "__main__":
    main()
