"""Tours: a page has rows of PostgreSQL and the free seats of a partner; another only has rows.

Environment: DATABASE (a URL of PostgreSQL), SEATS_URL (of the partner), ROWS (in the table of products).
"""

from __future__ import annotations

import os
import threading
import urllib.request

import psycopg2
from flask import Flask, abort, jsonify

ROWS = int(os.environ.get("ROWS", "1000"))
TOUR = "SELECT sku, name, price FROM products WHERE id = %s"
SIMILAR = "SELECT id, name, price FROM products WHERE id BETWEEN %s AND %s"
local = threading.local()
app = Flask(__name__)


def fetch_rows(statement: str, words: list[int]):
    """Return rows over the connection of this thread, which is opened again once when it is lost."""
    for attempt in (1, 2):
        try:
            if not hasattr(local, "database"):
                local.database = psycopg2.connect(os.environ["DATABASE"], connect_timeout=5)
                local.database.autocommit = True
            with local.database.cursor() as cursor:
                cursor.execute(statement, words)
                return [list(map(str, row)) for row in cursor.fetchall()]
        except (psycopg2.OperationalError, psycopg2.InterfaceError):
            local.__dict__.pop("database", None)
            if attempt == 2:
                raise
    return []


@app.errorhandler(psycopg2.Error)
def report_database(error: Exception):
    """The answer where the database has none."""
    return jsonify(error=str(error).strip()), 503


@app.get("/tours/<int:number>")
def show_tour(number: int):
    """A tour with its free seats."""
    tour = fetch_rows(TOUR, [number % ROWS])
    try:
        with urllib.request.urlopen(f"{os.environ['SEATS_URL']}/seats/{number}", timeout=8) as answer:
            seats = len(answer.read())
    except OSError:
        abort(502)
    rows = fetch_rows(SIMILAR, [number % ROWS, number % ROWS + 8])
    return jsonify(tour=tour, seats=seats, similar=rows)


@app.get("/similar/<int:number>")
def list_similar(number: int):
    """Tours that are like this one."""
    rows = fetch_rows(SIMILAR, [number % ROWS, number % ROWS + 30])
    return jsonify(rows)
