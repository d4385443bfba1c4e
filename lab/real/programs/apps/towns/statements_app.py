"""Statements of a clinic: /patients/<n> shows the last bills of a patient, /sums/<n> adds up a day of a ward.

Environment: DATABASE (a URL of PostgreSQL), CUSTOMERS (how many patients there are).
"""

from __future__ import annotations

import hashlib
import os
import threading

import psycopg2
from flask import Flask, Response, abort, jsonify

CUSTOMERS = int(os.environ["CUSTOMERS"])
PATIENT = "SELECT id, amount, note FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 30"
SUMS = "SELECT status, count(*), sum(amount) FROM orders WHERE customer_id BETWEEN %s AND %s GROUP BY status"
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
        if getattr(local, "database", None) is not None and local.database.closed:
            local.database = None
        abort(503)


@app.get("/patients/<int:number>")
def show_patient(number: int) -> Response:
    """The last bills of a patient."""
    rows = fetch_rows(PATIENT, number % CUSTOMERS)
    return jsonify(rows=[[str(value) for value in row] for row in rows])


@app.get("/sums/<int:number>")
def show_sums(number: int) -> Response:
    """What patients of a ward were billed."""
    first = number % CUSTOMERS
    return jsonify(rows=[[str(value) for value in row] for row in fetch_rows(SUMS, first, first + 5)])


@app.get("/hours/<int:number>")
def show_hours(number: int) -> Response:
    """When a ward is open, signed."""
    text = f"ward {number % 40}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"clinic", 1500).hex())
