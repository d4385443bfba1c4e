"""Courses of a school: /courses/<n> has the price in a region, /teachers/<n> a list, /plans/<n> needs no rows.

Environment: DATABASE (a URL of PostgreSQL), ROWS (in the table of products), REGIONS, POOL (connections of a process),
WAIT_S (how long a page waits for a connection).
"""

from __future__ import annotations

import hashlib
import os
import time

import psycopg2
from flask import Flask, abort, jsonify
from psycopg2.pool import PoolError, ThreadedConnectionPool

ROWS, REGIONS, POOL = (int(os.environ[name]) for name in ("ROWS", "REGIONS", "POOL"))
WAIT_S = float(os.environ["WAIT_S"])
COURSE = "SELECT sku, name, price FROM products WHERE id = %s"
FACTOR = "SELECT factor FROM tariffs WHERE region = %s"
TEACHERS = "SELECT id, name FROM products WHERE id BETWEEN %s AND %s"
pool = ThreadedConnectionPool(POOL, POOL, os.environ["DATABASE"], connect_timeout=5)
app = Flask(__name__)


def take_connection():
    """Return a connection of the pool, or answer 503 when there is none in time."""
    end = time.monotonic() + WAIT_S
    while True:
        try:
            connection = pool.getconn()
        except PoolError:
            if time.monotonic() > end:
                abort(503)
            time.sleep(0.02)
        else:
            connection.autocommit = True
            return connection


def fetch_rows(connection, statement: str, *words: int):
    """Return rows over this connection."""
    with connection.cursor() as cursor:
        cursor.execute(statement, words)
        return cursor.fetchall()


@app.errorhandler(psycopg2.Error)
def report_database(error: Exception):
    """The answer where the database has none."""
    return jsonify(error=str(error).strip()), 503


@app.get("/courses/<int:number>")
def show_course(number: int):
    """A course with its price in the region of the visitor."""
    connection = take_connection()
    sku, name, price = fetch_rows(connection, COURSE, number % ROWS)[0]
    factor = fetch_rows(connection, FACTOR, number % REGIONS)[0][0]
    pool.putconn(connection)
    return jsonify(sku=sku, name=name, price=str(price * factor))


@app.get("/teachers/<int:number>")
def list_teachers(number: int):
    """Some teachers."""
    connection = take_connection()
    rows = fetch_rows(connection, TEACHERS, number % ROWS, number % ROWS + 12)
    pool.putconn(connection)
    return jsonify(rows)


@app.get("/plans/<int:number>")
def show_plan(number: int):
    """A plan of the week, with a signature."""
    text = f"plan {number}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"school", 2500).hex())
