"""A single-threaded, event-driven HTTP service whose loop pauses occasionally, like one with a garbage collector."""

from __future__ import annotations

import argparse
import resource
import selectors
import socket
import time
from pathlib import Path

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 120\r\n\r\n" + b"y" * 120


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--name", default="gateway")
    parser.add_argument("--backlog", type=int, default=1024)
    parser.add_argument("--any", action="store_true", help="listen on every address")
    parser.add_argument("--stall-ms", type=float, default=0.0)
    parser.add_argument("--every-ms", type=float, default=1000.0)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text(options.name[:15])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    address, port = options.listen.split(":")
    listener = socket.create_server(
        ("0.0.0.0" if options.any else address, int(port)), backlog=options.backlog
    )
    listener.setblocking(False)
    loop = selectors.DefaultSelector()
    loop.register(listener, selectors.EVENT_READ)
    stall_at = time.monotonic() + options.every_ms / 1000
    while True:
        for key, _ in loop.select(timeout=0.05):
            if key.fileobj is listener:
                _accept_all(listener, loop)
            elif isinstance(key.fileobj, socket.socket):
                _answer(key.fileobj, loop)
        if time.monotonic() >= stall_at:
            time.sleep(options.stall_ms / 1000)
            stall_at = time.monotonic() + options.every_ms / 1000


def _accept_all(listener: socket.socket, loop: selectors.BaseSelector) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        loop.register(connection, selectors.EVENT_READ)


def _answer(connection: socket.socket, loop: selectors.BaseSelector) -> None:
    """Answers one request; hangs up when asked to, or when the client did."""
    try:
        request = connection.recv(4096)
        if request:
            connection.send(ANSWER)
    except OSError:
        request = b""
    if not request or b"Connection: close" in request:
        loop.unregister(connection)
        connection.close()


if __name__ == "__main__":
    main()
