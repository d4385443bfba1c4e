"""A small HTTP service with a pool of threads: every worker accepts, reads, works, answers.

All its knobs are what a real change could turn: the backlog, the workers, the work, what it calls.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import struct
import threading
import time
from http import HTTPStatus
from pathlib import Path

REQUEST_LIMIT = 4096
UPSTREAM_S = 3.0
REQUEST_MAX = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--name", default="orders-api")
    parser.add_argument("--backlog", type=int, default=511)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--idle-s", type=float, default=5.0, help="how long a worker waits for the client")
    parser.add_argument("--wait-ms", type=float, default=0.0, help="time a request sleeps")
    parser.add_argument("--burn-ms", type=float, default=0.0, help="CPU time a request burns")
    parser.add_argument("--answer-bytes", type=int, default=200)
    parser.add_argument("--upstream", default="", help="address:port that each request asks first")
    parser.add_argument(
        "--upstream-reset", action="store_true", help="hang up on it with RST, without TIME_WAIT"
    )
    parser.add_argument("--source", default=None, help="bind this address before asking upstream")
    parser.add_argument("--access-log", default="")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text(options.name[:15])
    if options.access_log:
        Path(options.access_log).parent.mkdir(parents=True, exist_ok=True)
    address, port = options.listen.split(":")
    listener = socket.create_server((address, int(port)), backlog=options.backlog)
    workers = [threading.Thread(target=_work, args=(listener, options)) for _ in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _work(listener: socket.socket, options: argparse.Namespace) -> None:
    while True:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(options.idle_s)
                _converse(connection, options)


def _converse(connection: socket.socket, options: argparse.Namespace) -> None:
    """Answers requests until the client hangs up or asks to."""
    while request := _read(connection):
        began = time.time()
        status = _answer(options)
        last = b"Connection: close" in request
        body = b"x" * options.answer_bytes
        connection.sendall(
            b"HTTP/1.1 %d %s\r\nContent-Length: %d\r\n%s\r\n"
            % (
                status,
                HTTPStatus(status).phrase.encode(),
                len(body),
                b"Connection: close\r\n" if last else b"",
            )
            + body
        )
        if options.access_log:
            method, path, *_ = request.split(b" ", 2)
            took_ms = (time.time() - began) * 1000
            _log(
                options.access_log, f"{began:.3f} {method.decode()} {path.decode()} {status} {took_ms:.2f}\n"
            )
        if last:
            return


def _read(connection: socket.socket) -> bytes:
    """One request with its body; b"" when the client has hung up."""
    request = b""
    while b"\r\n\r\n" not in request:
        if not (part := connection.recv(REQUEST_LIMIT)):
            return b""
        request += part
    head, _, body = request.partition(b"\r\n\r\n")
    missing = 0
    if b"Content-Length: " in head:
        missing = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]) - len(body)
    while missing > 0:
        if not (part := connection.recv(min(missing, REQUEST_MAX))):
            return b""
        missing -= len(part)
    return head


def _log(path: str, line: str) -> None:
    """One write per line: threads need no lock, and log rotation needs no signal."""
    with Path(path).open("a") as log:
        log.write(line)


def _answer(options: argparse.Namespace) -> int:
    """Does the work of one request; returns its status."""
    if options.burn_ms:
        end = time.thread_time() + options.burn_ms / 1000
        while time.thread_time() < end:
            sum(range(200))
    if options.wait_ms:
        time.sleep(options.wait_ms / 1000)
    return _ask(options) if options.upstream else 200


def _ask(options: argparse.Namespace) -> int:
    address, port = options.upstream.split(":")
    source = (options.source, 0) if options.source else None
    try:
        with socket.create_connection((address, int(port)), UPSTREAM_S, source) as upstream:
            if options.upstream_reset:
                upstream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            upstream.sendall(b"GET /item HTTP/1.1\r\nHost: upstream\r\n\r\n")
            return 200 if upstream.recv(REQUEST_LIMIT) else 502
    except OSError:
        return 502


if __name__ == "__main__":
    main()
