"""A shop in front of PostgreSQL: a thread per request, with a connection per thread or per request.

storefront.py --port 8080 --database URL --threads 16 --log /run/storefront/access.log
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

import psycopg
import redis

PRODUCT = (
    "SELECT p.sku, p.name, p.price, s.available - s.reserved FROM products p JOIN stock s ON s.product_id = p.id"
    " WHERE p.id = %s"
)
RELATED = "SELECT sku, name, price FROM products WHERE id BETWEEN %s AND %s"
LIST = (
    "SELECT p.sku, p.name, p.price, s.available - s.reserved FROM products p JOIN stock s ON s.product_id = p.id"
    " WHERE p.id BETWEEN %s AND %s"
)
HISTORY = "SELECT id, product_id, amount, status FROM orders WHERE customer_id = %s ORDER BY created_at DESC LIMIT 20"
DOCUMENT = "SELECT customer_id, amount, status, left(note, 200) FROM orders WHERE id = %s"
RESERVE = "UPDATE stock SET reserved = reserved + 1 WHERE product_id = %s"
ORDER = (
    "INSERT INTO orders (customer_id, product_id, amount, status, note)"
    " VALUES (%s, %s, %s, 'new', repeat(md5(%s), %s)) RETURNING id"
)
ITEM = "SELECT sku, name, price FROM products WHERE id = %s"
LEVEL = "SELECT available - reserved FROM stock WHERE product_id = %s"
COUNT = "UPDATE stock SET reserved = reserved + 1 WHERE product_id = %s"
SUMMARY = (
    "SELECT status, count(*), sum(amount), sum(hashtext(repeat(note, %s))) FROM orders"
    " WHERE customer_id BETWEEN %s AND %s GROUP BY status"
)
TOUCH = "UPDATE orders SET status = 'paid' WHERE id = %s"


class Pages:
    """The pages of the shop, by the first word of the path. Each returns rows."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.cache = redis.Redis(port=options.cache) if options.cache else None

    def show_product(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Return a product and its neighbors in the list."""
        product = number % self.options.products
        rows = database.execute(PRODUCT, [product]).fetchall()
        return rows + database.execute(RELATED, [product, product + 12]).fetchall()

    def list_orders(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Return the last orders of a customer."""
        return database.execute(HISTORY, [number % self.options.customers]).fetchall()

    def show_list(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Return the products of a list with their stock; `--lists` states how: in a statement, or by product."""
        first, length = number % (self.options.products - 400), self.options.list_length
        if self.options.lists == "joined":
            return database.execute(LIST, [first, first + length - 1]).fetchall()
        rows: list[Any] = []
        for product in range(first, first + length):
            rows += database.execute(ITEM, [product]).fetchall()
            rows += database.execute(LEVEL, [product]).fetchall()
        return rows

    def count_visit(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Count a visit of the campaign, then render the page, within a transaction."""
        counter = 0 if self.options.counters == "campaign" else number % self.options.products
        with database.transaction():
            database.execute(COUNT, [counter])
            rows = database.execute(PRODUCT, [number % self.options.products]).fetchall()
            time.sleep(self.options.render_ms / 1e3)
        return rows

    def show_summary(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Return sums over the orders of many customers: from the cache, or from the database and then cached."""
        key = f"{self.options.cache_prefix}:{number}"
        text = self.cache.get(key) if self.cache else None
        if text is not None:
            cached: list[Any] = json.loads(text)["rows"]
            return cached
        first = number % max(1, self.options.customers - 400)
        rows = database.execute(SUMMARY, [self.options.summary_work, first, first + 400]).fetchall()
        if self.cache:
            # A page does not fail because it could not be cached.
            with contextlib.suppress(redis.RedisError):
                page = json.dumps({"rows": rows, "page": f"{number:09}" * 700}, default=str)
                self.cache.set(key, page, ex=3600)
        return rows

    def show_document(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Return one order, anywhere in the table."""
        return database.execute(DOCUMENT, [1 + number * 7919 % self.options.orders]).fetchall()

    def place_order(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Reserve a product and insert the order."""
        product, customer = number % self.options.products, number % self.options.customers
        with database.transaction():
            database.execute(RESERVE, [product])
            words = [customer, product, number % 990, str(number), self.options.note_words]
            return database.execute(ORDER, words).fetchall()

    def pay_order(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Mark an order anywhere in the table as paid."""
        database.execute(TOUCH, [1 + number * 7919 % self.options.orders])
        return []

    def check_service(self, database: psycopg.Connection[Any], number: int) -> list[Any]:
        """Return the version of the page, without a statement."""
        return [("version", number % 3)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--connection", choices=("thread", "request"), default="thread")
    parser.add_argument("--log", required=True)
    parser.add_argument("--lists", choices=("joined", "each"), default="joined")
    parser.add_argument("--list-length", type=int, default=100)
    parser.add_argument("--counters", choices=("product", "campaign"), default="product")
    parser.add_argument("--cache", type=int, default=0)
    parser.add_argument("--cache-prefix", default="summary")
    parser.add_argument("--summary-work", type=int, default=1)
    parser.add_argument("--render-ms", type=float, default=0.0)
    for name, number in (("products", 1000), ("customers", 1000), ("orders", 1000), ("note-words", 2)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("storefront")
    listener = socket.create_server(("0.0.0.0", options.port), backlog=1024)
    Path(options.log).parent.mkdir(exist_ok=True)
    with Path(options.log).open("a", buffering=1) as log:
        threads = [
            threading.Thread(target=serve_requests, args=(listener, options, log))
            for _ in range(options.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def serve_requests(listener: socket.socket, options: argparse.Namespace, log: TextIO) -> None:
    """Answer one request after the other."""
    pages = Pages(options)
    routes = {
        "products": pages.show_product, "orders": pages.list_orders, "documents": pages.show_document,
        "lists": pages.show_list, "visits": pages.count_visit,
        "summaries": pages.show_summary,
        "checkout": pages.place_order, "payments": pages.pay_order, "status": pages.check_service,
    }  # fmt: skip
    database: psycopg.Connection[Any] | None = None
    while True:
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError):
            peer.settimeout(10)
            line = peer.recv(2048).split(b"\r\n", 1)[0].decode("ascii", "replace").split()
            if len(line) < 2:
                continue
            begin, status, rows = time.monotonic(), 200, []
            _, name, number, *_ = [*line[1].split("/"), "", "0"]
            try:
                if database is None or database.closed:
                    database = psycopg.connect(options.database, autocommit=True, connect_timeout=10)
                rows = routes.get(name, pages.check_service)(database, int(number or 0))
            except psycopg.Error as error:
                status = 500
                print(f"storefront: {line[1]}: {str(error).strip()}", file=sys.stderr, flush=True)
                if isinstance(error, psycopg.OperationalError) and database is not None:
                    with contextlib.suppress(psycopg.Error):
                        database.close()
            if options.connection == "request" and database is not None:
                database.close()
            body = json.dumps(rows, default=str).encode()
            log.write(f"{time.time():.3f} GET {line[1]} {status} {(time.monotonic() - begin) * 1e3:.3f}\n")
            head = f"HTTP/1.1 {status} OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            peer.sendall(head.encode() + body)


if __name__ == "__main__":
    main()
