"""Harvests of beekeepers: /harvests/<n> grades those of a keeper, /hives/<n> reads a row, /flowers/<n> needs none.

Environment: DATABASE_URL, KEEPERS, ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import threading

import psycopg2
from flask import Flask, Response, abort, jsonify

KEEPERS, ROUNDS = int(os.environ["KEEPERS"]), int(os.environ["ROUNDS"])
HARVESTS = """
SELECT kind, date_trunc('month', day) AS month, count(*), sum(grade(grams, moisture)), avg(moisture),
    max(grams) FILTER (WHERE moisture < 18) FROM weighings WHERE keeper = %s GROUP BY kind, month ORDER BY month, kind
"""
HIVE = "SELECT place, queens FROM hives WHERE id = %s"
app = Flask(__name__)
local = threading.local()


def run_query(query: str, number: int) -> list[tuple[object, ...]]:
    """Return the rows of a statement, over the connection of this thread."""
    try:
        if not hasattr(local, "database"):
            local.database = psycopg2.connect(os.environ["DATABASE_URL"])
            local.database.autocommit = True
        with local.database.cursor() as cursor:
            cursor.execute(query, (number,))
            return list(cursor.fetchall())
    except psycopg2.Error:
        local.__dict__.pop("database", None)
        abort(503)


def seal_text(text: str) -> str:
    """Return the seal of a text."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"wax", ROUNDS).hex()


@app.get("/harvests/<int:number>")
def list_harvests(number: int) -> Response:
    """What a keeper has harvested each month."""
    rows = run_query(HARVESTS, number % KEEPERS)
    return jsonify(rows=[[str(value) for value in row] for row in rows], seal=seal_text("harvests"))


@app.get("/hives/<int:number>")
def describe_hive(number: int) -> Response:
    """A hive."""
    return jsonify(hive=run_query(HIVE, number % 400), seal=seal_text("hive"))


@app.get("/flowers/<int:number>")
def describe_flower(number: int) -> Response:
    """A flower."""
    return jsonify(flower=number % 70, seal=seal_text(f"flower {number}"))
