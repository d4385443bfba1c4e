"""Bicycles for hire: /hires/<n> sums up hires of customers, /bicycles/<n> shows one, /routes/<n> is brief.

Environment: MARIADB_PORT, CUSTOMERS, PRODUCTS, GROUP (how many customers are summed up), ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any

import pymysql
from flask import Flask, Response, jsonify

CUSTOMERS, PRODUCTS, GROUP, ROUNDS = (
    int(os.environ[name]) for name in ("CUSTOMERS", "PRODUCTS", "GROUP", "ROUNDS")
)
SUMS = """
SELECT status, count(*), sum(amount), max(md5(note)) FROM orders
WHERE customer_id BETWEEN %s AND %s GROUP BY status
"""
app = Flask(__name__)
local = threading.local()


def run_statement(text: str, *values: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, over the connection of this thread."""
    if not hasattr(local, "database"):
        local.database = pymysql.connect(
            host="127.0.0.1", port=int(os.environ["MARIADB_PORT"]), user="shop", password="shop", database="shop",
            autocommit=True,
        )  # fmt: skip
    cursor = local.database.cursor()
    cursor.execute(text, values)
    return list(cursor.fetchall())


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"wheel", ROUNDS).hex()


@app.get("/hires/<int:number>")
def sum_hires(number: int) -> Response:
    """What some customers have paid."""
    first = number % max(1, CUSTOMERS - GROUP)
    rows = run_statement(SUMS, first, first + GROUP)
    return jsonify(
        sums=[[str(value) for value in row] for row in rows], signature=sign_answer(f"hire {number}")
    )


@app.get("/bicycles/<int:number>")
def show_bicycle(number: int) -> Response:
    """A bicycle."""
    rows = run_statement("SELECT sku, price FROM products WHERE id = %s", number % PRODUCTS)
    return jsonify(bicycle=[[str(value) for value in row] for row in rows])


@app.get("/routes/<int:number>")
def show_route(number: int) -> Response:
    """A route."""
    return jsonify(route=number % 70, signature=sign_answer(f"route {number}"))
