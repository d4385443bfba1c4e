"""Plans of a building archive: /plans/<n> reads the database of another host, /forms/<n> and /fees/<n> need none.

Environment: DATABASE (a URL of PostgreSQL), POOL (connections of a worker), CUSTOMERS (how many owners there are).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import threading
from collections.abc import Iterator

import psycopg2
from flask import Flask, Response, abort, jsonify
from psycopg2.extensions import connection

CUSTOMERS = int(os.environ["CUSTOMERS"])
PLANS = "SELECT id, amount, status FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 20"
app = Flask(__name__)


class ConnectionPool:
    """Connections that are open from the first use on; the one that was returned first is used next."""

    def __init__(self, size: int) -> None:
        self.size, self.lock = size, threading.Lock()
        self.idle: queue.Queue[connection | None] = queue.Queue()
        self.is_filled = False

    def fill(self) -> None:
        """Open all connections, once."""
        with self.lock:
            if not self.is_filled:
                for _ in range(self.size):
                    self.idle.put(open_connection())
                self.is_filled = True

    @contextlib.contextmanager
    def borrow(self) -> Iterator[connection]:
        """Lend a connection; one that broke is replaced at the next use."""
        self.fill()
        database = self.idle.get(timeout=5)
        try:
            if database is None or database.closed:
                database = open_connection()
            yield database
        finally:
            self.idle.put(database)


def open_connection() -> connection:
    """Return a new connection to the database."""
    database = psycopg2.connect(os.environ["DATABASE"], connect_timeout=5)
    database.autocommit = True
    return database


POOL = ConnectionPool(int(os.environ["POOL"]))


@app.get("/plans/<int:number>")
def list_plans(number: int) -> Response:
    """The plans of an owner."""
    try:
        with POOL.borrow() as database, database.cursor() as cursor:
            cursor.execute(PLANS, (number % CUSTOMERS,))
            return jsonify(rows=[[str(value) for value in row] for row in cursor])
    except (psycopg2.Error, queue.Empty) as error:
        app.logger.warning("%s", str(error).strip())
        abort(503)


@app.get("/forms/<int:number>")
@app.get("/fees/<int:number>")
def show_form(number: int) -> Response:
    """A form, signed."""
    text = f"form {number % 60}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"plans", 1500).hex())
