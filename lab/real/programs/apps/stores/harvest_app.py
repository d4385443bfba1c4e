"""Harvests of a cooperative: /yields/<n> adds up the deliveries of a field, /fields/<n> shows a customer's orders.

Environment: DATABASE (a URL of PostgreSQL), CUSTOMERS (how many there are).
"""

from __future__ import annotations

import hashlib
import os
import threading

import psycopg2
from flask import Flask, Response, abort, jsonify

CUSTOMERS = int(os.environ["CUSTOMERS"])
YIELDS = "SELECT status, count(*), sum(amount) FROM orders WHERE product_id %% %s = %s GROUP BY status"
FIELD = "SELECT id, amount FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 20"
app = Flask(__name__)
local = threading.local()


def fetch_rows(statement: str, *values: int) -> list[tuple[object, ...]]:
    """Return the rows of a statement on the connection of this thread, or answer 503."""
    try:
        if getattr(local, "database", None) is None:
            local.database = psycopg2.connect(os.environ["DATABASE"], connect_timeout=5)
            local.database.autocommit = True
        with local.database.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()
    except psycopg2.Error as error:
        app.logger.warning("%s", str(error).strip())
        if local.database is not None and local.database.closed:
            local.database = None
        abort(503)


@app.get("/yields/<int:number>")
def show_yields(number: int) -> Response:
    """What was delivered of a kind of crop."""
    return jsonify(yields=[[str(value) for value in row] for row in fetch_rows(YIELDS, 40, number % 40)])


@app.get("/fields/<int:number>")
def show_field(number: int) -> Response:
    """The last deliveries of a farmer."""
    return jsonify(rows=[[str(value) for value in row] for row in fetch_rows(FIELD, number % CUSTOMERS)])


@app.get("/weather/<int:number>")
def show_weather(number: int) -> Response:
    """A forecast, signed."""
    text = f"forecast {number % 80}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"coop", 2500).hex())
