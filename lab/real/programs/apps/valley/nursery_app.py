"""Plants of a nursery: /plants/<n> has those of a kind that survive in a zone, /orders/<n> those of a customer.

The plants of a kind and zone are kept in a memcached. Environment: MARIADB_PORT, MEMCACHED (address:port), KINDS,
ZONES, CUSTOMERS, KEPT_S, ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from typing import Any

import pymysql
from flask import Flask, Response, jsonify

KINDS, ZONES, CUSTOMERS = (int(os.environ[name]) for name in ("KINDS", "ZONES", "CUSTOMERS"))
KEPT_S, ROUNDS = int(os.environ["KEPT_S"]), int(os.environ["ROUNDS"])
CACHE, CACHE_PORT = os.environ["MEMCACHED"].split(":")
LIST = """
SELECT p.size, count(*) AS plants, min(p.cents) AS least,
       avg(p.cents * (1 + abs(p.coldest - %(zone)s) * 0.004)) AS middle,
       max(sha2(sha2(concat(p.id, p.size, %(zone)s), 512), 512)) AS mark
FROM plants p WHERE p.kind = %(kind)s AND p.coldest <= %(zone)s GROUP BY p.size ORDER BY middle DESC LIMIT 20
"""
app = Flask(__name__)
local = threading.local()


def run_statement(text: str, values: dict[str, int]) -> list[dict[str, Any]]:
    """Return the rows of a statement, over the connection of this thread."""
    if not hasattr(local, "database"):
        local.database = pymysql.connect(
            host="127.0.0.1", port=int(os.environ["MARIADB_PORT"]), user="shop", password="shop", database="shop",
            autocommit=True, cursorclass=pymysql.cursors.DictCursor,
        )  # fmt: skip
    with local.database.cursor() as cursor:
        cursor.execute(text, values)
        return list(cursor.fetchall())


def connect_cache() -> Any:
    """Return the stream of this thread to memcached."""
    if not hasattr(local, "cache"):
        local.cache = socket.create_connection((CACHE, int(CACHE_PORT)), timeout=2).makefile("rwb")
    return local.cache


def read_cache(key: str) -> str:
    """Return the text of a key, '' where none is kept."""
    stream = connect_cache()
    stream.write(f"get {key}\r\n".encode())
    stream.flush()
    words = stream.readline().split()
    if words[0] != b"VALUE":
        return ""
    text: bytes = stream.read(int(words[3]) + 2)[:-2]
    stream.readline()
    return text.decode()


def write_cache(key: str, text: str) -> None:
    """Keep a text."""
    stream, body = connect_cache(), text.encode()
    stream.write(b"set %s 0 %d %d\r\n%s\r\n" % (key.encode(), KEPT_S, len(body), body))
    stream.flush()
    stream.readline()


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"leaf", ROUNDS).hex()


@app.get("/plants/<int:number>")
def list_plants(number: int) -> Response:
    """The plants of a kind that survive in a zone."""
    kind, zone = number % KINDS, number // KINDS % ZONES
    key = f"plants:{kind}:{zone}"
    if not (text := read_cache(key)):
        text = json.dumps(run_statement(LIST, {"kind": kind, "zone": zone}), default=str)
        write_cache(key, text)
    return jsonify(plants=json.loads(text), signature=sign_answer(text))


@app.get("/orders/<int:number>")
def list_orders(number: int) -> Response:
    """The orders of a customer."""
    rows = run_statement(
        "SELECT id, amount, status FROM orders WHERE customer_id = %(customer)s ORDER BY id DESC LIMIT 10",
        {"customer": number % CUSTOMERS},
    )
    return jsonify(orders=[{name: str(value) for name, value in row.items()} for row in rows])


@app.get("/terms/<int:number>")
def show_terms(number: int) -> Response:
    """The terms for a customer."""
    return jsonify(terms=number, signature=sign_answer(f"terms {number}"))
