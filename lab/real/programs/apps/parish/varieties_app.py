"""Varieties of a seed dealer: /lists/<n> is part of a price list, /varieties/<n> one variety, /sowing/<n> is brief.

A price list is kept in memcached. Environment: DATABASE_URL, CACHE (address:port), LISTS, VARIETIES, KEEP_S, ROUNDS.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from typing import Any

import psycopg2
from flask import Flask, Response, jsonify

LISTS, VARIETIES = int(os.environ["LISTS"]), int(os.environ["VARIETIES"])
KEEP_S, ROUNDS = int(os.environ["KEEP_S"]), int(os.environ["ROUNDS"])
PAGE = 30
LIST = """
SELECT v.id, v.name, v.notes, min(p.cents), max(p.cents), round(avg(p.cents)) FROM varieties v
JOIN prices p ON p.variety = v.id WHERE v.list = %s GROUP BY v.id ORDER BY v.name
"""
VARIETY = "SELECT name, notes FROM varieties WHERE id = %s"
app = Flask(__name__)
local = threading.local()


class Cache:
    """A connection to memcached."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.socket = socket.create_connection((host, int(port)), 3)
        self.file = self.socket.makefile("rb")

    def load_value(self, key: str) -> bytes | None:
        """Return what is kept, or None."""
        self.socket.sendall(f"get {key}\r\n".encode())
        head = self.file.readline().split()
        if not head or head[0] != b"VALUE":
            return None
        value = self.file.read(int(head[3]))
        self.file.readline()
        self.file.readline()
        return value

    def keep_value(self, key: str, value: bytes) -> bool:
        """Keep a value for a while. Return whether memcached has it now."""
        self.socket.sendall(f"set {key} 0 {KEEP_S} {len(value)}\r\n".encode() + value + b"\r\n")
        return self.file.readline().startswith(b"STORED")


def run_statement(text: str, value: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, over the connection of this thread."""
    if getattr(local, "database", None) is None:
        local.database = psycopg2.connect(os.environ["DATABASE_URL"])
        local.database.autocommit = True
    with local.database.cursor() as cursor:
        cursor.execute(text, (value,))
        return list(cursor.fetchall())


def load_list(number: int) -> list[list[Any]]:
    """Return a price list, from memcached where that has it."""
    if getattr(local, "cache", None) is None:
        local.cache = Cache(os.environ["CACHE"])
    kept = local.cache.load_value(f"list:{number}")
    if kept is None:
        rows = [[*row[:5], int(row[5])] for row in run_statement(LIST, number)]
        kept = json.dumps(rows, separators=(",", ":")).encode()
        local.cache.keep_value(f"list:{number}", kept)
    return list(json.loads(kept))


@app.get("/lists/<int:number>")
def show_list(number: int) -> Response:
    """A page of a price list."""
    rows = load_list(number % LISTS)
    first = number * PAGE % max(1, len(rows) - PAGE)
    return jsonify(varieties=rows[first : first + PAGE], count=len(rows))


@app.get("/varieties/<int:number>")
def show_variety(number: int) -> Response:
    """A variety."""
    rows = run_statement(VARIETY, 1 + number % VARIETIES)
    return jsonify(variety=[list(row) for row in rows])


@app.get("/sowing/<int:number>")
def show_sowing(number: int) -> Response:
    """When to sow."""
    return jsonify(
        month=number % 12, digest=hashlib.pbkdf2_hmac("sha256", str(number).encode(), b"sow", ROUNDS).hex()
    )
