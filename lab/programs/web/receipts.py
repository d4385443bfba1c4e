"""A service that books in the primary of a database, and shows the booking once its replica has it.

A thread per connection of the pool; readers go to the replica, as the primary is for writes only.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import threading
import time
from pathlib import Path

import psycopg

BOOK = "INSERT INTO orders (customer_id, product_id, amount, status, note) VALUES (%s, %s, 9.5, 'new', '') RETURNING id"
TAKE = "UPDATE stock SET available = available - 1 WHERE product_id = %s"
READ = "SELECT amount, status FROM orders WHERE id = %s"
REPLY = b"HTTP/1.1 %d OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nreceipt\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--primary", required=True)
    parser.add_argument("--replica", required=True)
    parser.add_argument("--threads", type=int, default=12)
    parser.add_argument("--products", type=int, required=True)
    parser.add_argument("--retry-ms", type=float, default=20.0, help="between two questions to the replica")
    parser.add_argument("--timeout-s", type=float, default=2.0, help="so long a receipt is waited for")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("receipts")
    listener = socket.create_server(("", options.port), backlog=512)
    for _ in range(options.threads):
        threading.Thread(target=serve_requests, args=(listener, options)).start()


def serve_requests(listener: socket.socket, options: argparse.Namespace) -> None:
    with (
        psycopg.connect(options.primary, autocommit=True) as primary,
        psycopg.connect(options.replica, autocommit=True) as replica,
    ):
        number = threading.get_ident()
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5.0)
                if connection.recv(4096):
                    number += 7919
                    is_replicated = book_and_show(primary, replica, number % options.products, options)
                    connection.sendall(REPLY % (200 if is_replicated else 504))


def book_and_show(
    primary: psycopg.Connection, replica: psycopg.Connection, product: int, options: argparse.Namespace
) -> bool:
    """Return whether the replica had the booking in time."""
    with primary.transaction():
        primary.execute(TAKE, [product])
        row = primary.execute(BOOK, [product, product]).fetchone()
    end = time.monotonic() + options.timeout_s
    while not replica.execute(READ, row).fetchone():
        if time.monotonic() > end:
            return False
        time.sleep(options.retry_ms / 1000)
    return True


if __name__ == "__main__":
    main()
