"""Cards of a stationer: /cards/<n> has a card rendered by a job and waits for it, /papers/<n> and /orders/<n> read.

Environment: MARIADB_PORT, CUSTOMERS, WAIT_S (how long a visitor waits for a card), ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from typing import Any

import pymysql
from flask import Flask, Response, abort, jsonify

CUSTOMERS, ROUNDS = int(os.environ["CUSTOMERS"]), int(os.environ["ROUNDS"])
WAIT_S, LOOK_S = float(os.environ["WAIT_S"]), 0.08
app = Flask(__name__)
local = threading.local()


def run_statement(text: str, *values: object) -> Any:
    """Run a statement over the connection of this thread. Return its cursor."""
    if not hasattr(local, "database"):
        local.database = pymysql.connect(
            host="127.0.0.1", port=int(os.environ["MARIADB_PORT"]), user="shop", password="shop", database="shop",
            autocommit=True,
        )  # fmt: skip
    cursor = local.database.cursor()
    cursor.execute(text, values)
    return cursor


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"seal", ROUNDS).hex()


@app.get("/cards/<int:number>")
def show_card(number: int) -> Response:
    """A card, once it is rendered."""
    job = run_statement("INSERT INTO jobs (card) VALUES (%s)", number).lastrowid
    until = time.monotonic() + WAIT_S
    row = None
    while row is None:
        if time.monotonic() > until:
            abort(504)
        time.sleep(LOOK_S)
        row = run_statement("SELECT picture FROM jobs WHERE id = %s AND state = 1", job).fetchone()
    return jsonify(card=number, picture=row[0], signature=sign_answer(row[0]))


@app.get("/papers/<int:number>")
def show_paper(number: int) -> Response:
    """A kind of paper."""
    row = run_statement("SELECT sku, price FROM products WHERE id = %s", number % 1_000).fetchone()
    return jsonify(paper=[str(value) for value in row], signature=sign_answer(f"paper {number}"))


@app.get("/orders/<int:number>")
def list_orders(number: int) -> Response:
    """The orders of a customer."""
    text = "SELECT id, amount, status FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 10"
    rows = run_statement(text, number % CUSTOMERS).fetchall()
    return jsonify(orders=[[str(value) for value in row] for row in rows])
