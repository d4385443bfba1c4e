"""Reservations of a hotel group: pages over PostgreSQL, with SQLAlchemy, and a deposit that a bank takes.

reservations.py --port 8080 --settings FILE --log FILE

Settings are JSON and are read at the start: database (URL), connections (that are kept), wait_s (for one of them),
bank (URL), release (7 or 8: when the deposit is taken), products, customers.
"""

from __future__ import annotations

import argparse
import json
import socketserver
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import text

CATEGORIES = text("SELECT sku, name, price FROM products WHERE id BETWEEN :room AND :room + 12")
STAYS = text(
    "SELECT id, product_id, amount FROM orders WHERE customer_id = :guest ORDER BY created_at DESC LIMIT 10"
)
RESERVE = text(
    "INSERT INTO orders (customer_id, product_id, amount, status, note)"
    " VALUES (:guest, :room, 90, 'new', '') RETURNING id"
)


class Desk(ThreadingHTTPServer):
    """The settings, the connections to the database, and the log."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, port: int, settings: dict[str, Any], log: Path) -> None:
        socketserver.TCPServer.__init__(self, ("127.0.0.1", port), DeskHandler)
        self.settings, self.log = settings, log.open("a", buffering=1)
        self.lock = threading.Lock()
        self.engine = sqlalchemy.create_engine(
            settings["database"], isolation_level="AUTOCOMMIT", pool_size=settings["connections"], max_overflow=0,
            pool_timeout=settings["wait_s"],
        )  # fmt: skip

    def take_deposit(self, number: int) -> int:
        """Return the size of the bank's answer."""
        with urllib.request.urlopen(f"{self.settings['bank']}/deposits/{number}", timeout=10) as answer:
            return len(answer.read())

    def build_page(self, kind: str, number: int) -> list[Any]:
        """Return the rows of a page."""
        values = {"room": number % self.settings["products"], "guest": number % self.settings["customers"]}
        if kind == "reserve":
            if self.settings["release"] == 7:
                deposit = self.take_deposit(number)
            with self.engine.connect() as database:
                rows = list(database.execute(RESERVE, values).tuples())
                if self.settings["release"] == 8:
                    deposit = self.take_deposit(number)
            return [*rows, deposit]
        with self.engine.connect() as database:
            return list(database.execute(STAYS if kind == "stays" else CATEGORIES, values).tuples())


class DeskHandler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Desk
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Answer a page."""
        begin, status, rows = time.monotonic(), 200, []
        _, kind, number, *_ = [*self.path.split("/"), "", "0"]
        try:
            rows = self.server.build_page(kind, int(number or 0))
        except (sqlalchemy.exc.SQLAlchemyError, OSError):
            status = 503
        body = json.dumps(rows, default=str).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with self.server.lock:
            self.server.log.write(
                f"{time.time():.3f} GET {self.path} {status} {(time.monotonic() - begin) * 1e3:.1f}\n"
            )

    def log_message(self, format: str, *args: object) -> None:
        """The log of the desk has its own lines."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--settings", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    options = parser.parse_args()
    Desk(options.port, json.loads(options.settings.read_text()), options.log).serve_forever()


if __name__ == "__main__":
    main()
