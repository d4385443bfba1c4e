"""Passes of a ski resort: /passes/<n> sums up what is booked for a pass, /lifts/<n> and /guests/<n> are brief.

Environment: DATABASE_URL, SEASON_FILE (a file with the number of the season on sale), KINDS, CUSTOMERS, ROUNDS.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import psycopg2
from flask import Flask, Response, jsonify

KINDS, CUSTOMERS, ROUNDS = (int(os.environ[name]) for name in ("KINDS", "CUSTOMERS", "ROUNDS"))
SEASON = Path(os.environ["SEASON_FILE"])
BOOKED = """
SELECT b.day, count(*) AS passes, sum(r.cents * b.people) AS cents
FROM bookings b JOIN rates r ON r.season = b.season AND r.tariff = b.tariff
WHERE b.season = %(season)s AND b.kind = %(kind)s GROUP BY b.day ORDER BY cents DESC LIMIT 14
"""
app = Flask(__name__)
local = threading.local()


def run_statement(text: str, **values: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, over the connection of this thread."""
    if not hasattr(local, "database"):
        local.database = psycopg2.connect(os.environ["DATABASE_URL"])
        local.database.autocommit = True
    with local.database.cursor() as cursor:
        cursor.execute(text, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"snow", ROUNDS).hex()


@app.get("/passes/<int:number>")
def list_passes(number: int) -> Response:
    """The days for which a kind of pass is booked most."""
    rows = run_statement(BOOKED, season=int(SEASON.read_text()), kind=number % KINDS)
    return jsonify(
        days=[[int(value) for value in row] for row in rows], signature=sign_answer(f"pass {number}")
    )


@app.get("/guests/<int:number>")
def show_guest(number: int) -> Response:
    """The orders of a guest."""
    text = "SELECT id, amount FROM orders WHERE customer_id = %(customer)s ORDER BY id DESC LIMIT 10"
    rows = run_statement(text, customer=number % CUSTOMERS)
    return jsonify(orders=[[str(value) for value in row] for row in rows])


@app.get("/lifts/<int:number>")
def show_lift(number: int) -> Response:
    """A lift."""
    return jsonify(lift=number % 40, signature=sign_answer(f"lift {number}"))
