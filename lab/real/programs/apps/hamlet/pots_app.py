"""Pots of a pottery: /orders/<n> lists what a customer ordered, /pots/<n> describes a pot, /glazes/<n> is brief.

Environment: DATABASE_URL, CUSTOMERS, PRODUCTS, ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any

import psycopg2
from flask import Flask, Response, jsonify

CUSTOMERS, PRODUCTS, ROUNDS = (int(os.environ[name]) for name in ("CUSTOMERS", "PRODUCTS", "ROUNDS"))
app = Flask(__name__)
local = threading.local()


def run_statement(text: str, value: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, over the connection of this thread."""
    if getattr(local, "database", None) is None:
        local.database = psycopg2.connect(os.environ["DATABASE_URL"], connect_timeout=3)
        local.database.autocommit = True
    with local.database.cursor() as cursor:
        cursor.execute(text, (value,))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


@app.errorhandler(psycopg2.Error)
def handle_failure(_: psycopg2.Error) -> Response:
    """Close the connection; the next request of this thread opens another."""
    database, local.database = getattr(local, "database", None), None
    if database is not None:
        database.close()
    return Response("no database", 503)


@app.get("/orders/<int:number>")
def list_orders(number: int) -> Response:
    """What a customer ordered."""
    text = "SELECT id, amount, status FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 10"
    return jsonify(orders=[[str(value) for value in row] for row in run_statement(text, number % CUSTOMERS)])


@app.get("/pots/<int:number>")
def describe_pot(number: int) -> Response:
    """A pot, and how many of it are left."""
    text = "SELECT p.name, p.price, s.available FROM products p JOIN stock s ON s.product_id = p.id WHERE p.id = %s"
    return jsonify(pot=[[str(value) for value in row] for row in run_statement(text, number % PRODUCTS)])


@app.get("/glazes/<int:number>")
def describe_glaze(number: int) -> Response:
    """A glaze."""
    seal = hashlib.pbkdf2_hmac("sha256", f"glaze {number}".encode(), b"kiln", ROUNDS).hex()
    return jsonify(glaze=number % 70, seal=seal)
