"""Orders of a bakery: /loaves/<n> takes an order of a branch, /branches/<n> shows its latest, /kinds/<n> is brief.

Environment: DATABASE_URL, BRANCHES, ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any

import psycopg2
from flask import Flask, Response, jsonify

BRANCHES, ROUNDS = int(os.environ["BRANCHES"]), int(os.environ["ROUNDS"])
TAKE = "INSERT INTO loaves (branch, kind, pieces) VALUES (%s, %s, %s) RETURNING id"
LATEST = "SELECT id, kind, pieces FROM loaves WHERE branch = %s ORDER BY id DESC LIMIT 20"
app = Flask(__name__)
local = threading.local()


def run_statement(text: str, *values: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, a transaction of its own over the connection of this thread."""
    if not hasattr(local, "database"):
        local.database = psycopg2.connect(os.environ["DATABASE_URL"])
        local.database.autocommit = True
    with local.database.cursor() as cursor:
        cursor.execute(text, values)
        return list(cursor.fetchall())


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"loaf", ROUNDS).hex()


@app.get("/loaves/<int:number>")
def take_order(number: int) -> Response:
    """An order of a branch."""
    order = run_statement(TAKE, number % BRANCHES, number % 90, 1 + number % 40)[0][0]
    return jsonify(order=order, signature=sign_answer(f"order {order}"))


@app.get("/branches/<int:number>")
def show_branch(number: int) -> Response:
    """The latest orders of a branch."""
    rows = run_statement(LATEST, number % BRANCHES)
    return jsonify(orders=[list(row) for row in rows], signature=sign_answer(f"branch {number}"))


@app.get("/kinds/<int:number>")
def show_kind(number: int) -> Response:
    """A kind of bread."""
    return jsonify(kind=number % 90, signature=sign_answer(f"kind {number}"))
