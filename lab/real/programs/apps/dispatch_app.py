"""Parcels of depots: a scanner adds a task, a driver takes the oldest one, and a page shows a depot.

Environment: DATABASE (a URL of PostgreSQL), DEPOTS (number of them).
"""

from __future__ import annotations

import os
import threading

import psycopg2
from flask import Flask, jsonify

DEPOTS = int(os.environ.get("DEPOTS", "100"))
ADD = "INSERT INTO tasks (kind, payload) VALUES ('parcel', md5(%s::text)) RETURNING id"
TAKE = (
    "DELETE FROM tasks WHERE id = (SELECT id FROM tasks ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)"
    " RETURNING id, payload"
)
SHOW = "SELECT id, town, lanes FROM depots WHERE id BETWEEN %s AND %s + 6"
local = threading.local()
app = Flask(__name__)


def fetch_rows(statement: str, *words: int):
    """Return rows over the connection of this thread."""
    if getattr(local, "database", None) is None or local.database.closed:
        local.database = psycopg2.connect(os.environ["DATABASE"], connect_timeout=5)
        local.database.autocommit = True
    with local.database.cursor() as cursor:
        cursor.execute(statement, words)
        return cursor.fetchall()


@app.get("/parcels/<int:number>")
def add_parcel(number: int):
    """Add a task for a parcel."""
    return jsonify(task=fetch_rows(ADD, number))


@app.get("/drivers/<int:number>")
def take_task(number: int):
    """Take the oldest task for a driver."""
    return jsonify(driver=number, task=fetch_rows(TAKE))


@app.get("/depots/<int:number>")
def show_depot(number: int):
    """A depot and those next to it."""
    return jsonify(depots=fetch_rows(SHOW, number % DEPOTS, number % DEPOTS))
