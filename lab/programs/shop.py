"""A web shop in Python: the validation variants' application, with other mechanics than service.c.

    python3 shop.py --port 8080 [--threads 8] [--workers 1] [knobs]

A pool of threads (in one or several worker processes) takes connections; each knob is one bad habit.
The access log has lines of `epoch_s method path status latency_ms`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import mmap
import os
import random
import resource
import socket
import sys
import threading
import time
from pathlib import Path

REPLY = b"HTTP/1.1 %d OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nshop\n"
PAGE = 4096


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=8, help="per process")
    parser.add_argument("--workers", type=int, default=1, help="processes that serve")
    parser.add_argument("--reports", type=int, default=0, help="processes that compute indefinitely")
    parser.add_argument("--cpu-ms", type=float, default=0.2, help="computing per request")
    parser.add_argument("--log", default="", help="access log")
    parser.add_argument("--journal", default="", help="file that gets one record per request")
    parser.add_argument("--fsync", action="store_true", help="every record is forced to the disk")
    parser.add_argument(
        "--handlers", type=int, default=0, help="log handlers in place of the access log, a file each"
    )
    parser.add_argument(
        "--same-lines", action="store_true", help="the handlers write the same, not their own"
    )
    parser.add_argument("--basket-kb", type=int, default=0, help="memory kept per request")
    parser.add_argument("--baskets", type=int, default=0, help="how many are kept; 0 = all")
    parser.add_argument("--spool", default="", help="directory that gets a file per request, without limit")
    parser.add_argument("--catalog", default="", help="file of products")
    parser.add_argument("--memory-mb", type=int, default=0, help="products are this much memory, not a file")
    parser.add_argument("--lookups", type=int, default=0, help="random products per request, through mmap")
    parser.add_argument("--read-block", type=int, default=0, help="the catalog is read in such blocks")
    parser.add_argument("--read-bytes", type=int, default=1 << 20, help="so much of it per request")
    parser.add_argument("--stock", default="", help="host:port asked on every request")
    parser.add_argument("--keep-stock", action="store_true", help="connections to the stock are never closed")
    parser.add_argument("--files", type=int, default=0, help="limit of open files")
    return parser.parse_args()


class Shop:
    """What all requests share."""

    def __init__(self, knobs: argparse.Namespace) -> None:
        self.knobs = knobs
        self.baskets: dict[int, bytearray] = {}
        self.kept: list[socket.socket] = []
        self.served = 0
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self.log = os.open(knobs.log, flags, 0o644) if knobs.log and not knobs.handlers else -1
        self.journal = os.open(knobs.journal, flags, 0o644) if knobs.journal else -1
        self.products: mmap.mmap | None = None
        if knobs.memory_mb:
            self.products = mmap.mmap(-1, knobs.memory_mb << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            while self.products.tell() < len(self.products):
                self.products.write(b"product " * 8192)
        elif knobs.lookups:
            with Path(knobs.catalog).open("rb") as file:
                self.products = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.logger = logging.getLogger("shop")
        self.logger.setLevel(logging.INFO)
        for number in range(knobs.handlers):
            self.logger.addHandler(logging.FileHandler(f"{knobs.log}.{number}"))

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:  # out of descriptors
                time.sleep(0.01)
                continue
            with peer, contextlib.suppress(OSError):
                peer.settimeout(5)
                if peer.recv(2048):
                    self.handle(peer)

    def handle(self, peer: socket.socket) -> None:
        begin = time.monotonic()
        self.served += 1
        number = self.served
        compute_answer(self.knobs.cpu_ms)
        status = 200 if self.ask_stock() else 503
        if self.knobs.basket_kb:
            self.fill_basket(number)
        if self.products is not None:
            sum(
                self.products[random.randrange(len(self.products) // PAGE) * PAGE]
                for _ in range(self.knobs.lookups)
            )
        if self.knobs.read_block:
            self.read_catalog()
        self.write_down(number, status, begin)
        peer.sendall(REPLY % status)

    def fill_basket(self, number: int) -> None:
        self.baskets[number] = bytearray(b"x") * (self.knobs.basket_kb * 1024)
        if self.knobs.baskets:
            self.baskets.pop(number - self.knobs.baskets, None)

    def read_catalog(self) -> None:
        with Path(self.knobs.catalog).open("rb", buffering=0) as file:
            left = self.knobs.read_bytes
            while left > 0 and (block := file.read(self.knobs.read_block)):
                left -= len(block)

    def ask_stock(self) -> bool:
        if not self.knobs.stock:
            return True
        host, _, port = self.knobs.stock.partition(":")
        try:
            link = socket.create_connection((host, int(port)), timeout=3)
            link.sendall(b"GET /stock HTTP/1.0\r\n\r\n")
            answered = bool(link.recv(512))
        except OSError:
            return False
        if self.knobs.keep_stock:
            self.kept.append(link)
        else:
            link.close()
        return answered

    def write_down(self, number: int, status: int, begin: float) -> None:
        line = f"{time.time():.3f} GET /basket {status} {(time.monotonic() - begin) * 1e3:.3f}"
        if self.log >= 0:
            os.write(self.log, line.encode() + b"\n")
        if self.journal >= 0:
            os.write(
                self.journal,
                json.dumps({"order": number, "state": "paid", "note": "x" * 120}).encode() + b"\n",
            )
            if self.knobs.fsync:
                os.fsync(self.journal)
        if self.knobs.spool:
            (Path(self.knobs.spool) / str(number)).write_bytes(os.urandom(1024) * 256)
        if self.knobs.same_lines:
            self.logger.info(line)
        else:
            audit = f"basket {number} of customer {number % 977}: {number % 7} articles, paid by card"
            for words, handler in zip((line, audit), self.logger.handlers, strict=False):
                handler.emit(logging.LogRecord("shop", logging.INFO, "", 0, words, None, None))


def compute_answer(cpu_ms: float) -> int:
    end = time.thread_time() + cpu_ms / 1e3
    total = 0
    while time.thread_time() < end:
        total += sum(range(200))
    return total


def compute_report() -> None:
    total = 0
    while True:
        total = (total + sum(range(2000))) & 0xFFFF


def main() -> None:
    knobs = parse_arguments()
    if knobs.files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (knobs.files, knobs.files))
    listener = socket.create_server(("0.0.0.0", knobs.port), backlog=1024)
    for _ in range(knobs.reports):
        if os.fork() == 0:
            compute_report()
    for _ in range(knobs.workers - 1):
        if os.fork() == 0:
            break
    shop = Shop(knobs)
    for _ in range(knobs.threads):
        threading.Thread(target=shop.serve, args=(listener,), daemon=True).start()
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
