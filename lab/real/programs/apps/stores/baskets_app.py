"""Baskets of a grocer, in Redis: /baskets/<n> adds an item, /items/<n> reads, /slots/<n> needs no Redis.

Environment: REDIS (address:port), ITEMS (how many there are).
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from typing import BinaryIO

from flask import Flask, Response, abort, jsonify

ADDRESS, PORT = os.environ["REDIS"].split(":")
ITEMS = int(os.environ["ITEMS"])
app = Flask(__name__)
local = threading.local()


class RedisError(Exception):
    """An answer of Redis that is an error."""


def open_stream() -> BinaryIO:
    """Return the stream of this thread, which is opened once."""
    if getattr(local, "stream", None) is None:
        connection = socket.create_connection((ADDRESS, int(PORT)), timeout=3)
        local.stream = connection.makefile("rwb")
    return local.stream


def send_command(*words: object) -> bytes:
    """Return the answer to one command. Raises OSError and RedisError."""
    try:
        stream = open_stream()
        stream.write(" ".join(map(str, words)).encode() + b"\r\n")
        stream.flush()
        line = stream.readline()
        if line.startswith(b"$") and int(line[1:]) >= 0:
            line = stream.read(int(line[1:]) + 2)
    except OSError:
        local.stream = None
        raise
    if not line:
        local.stream = None
        raise ConnectionResetError("Redis closed the connection")
    if line.startswith(b"-"):
        raise RedisError(line[1:].decode().strip())
    return line.strip()


@app.get("/baskets/<int:number>")
def add_item(number: int) -> Response:
    """Add an item to a basket."""
    try:
        count = send_command("HINCRBY", f"basket:{number % 5000}", number % ITEMS, 1)
    except (OSError, RedisError) as error:
        app.logger.error("basket %s: %s", number % 5000, str(error)[:60])
        abort(503)
    return jsonify(basket=number % 5000, count=count.decode())


@app.get("/items/<int:number>")
def show_item(number: int) -> Response:
    """An item of the shop."""
    try:
        text = send_command("GET", f"item:{number % ITEMS}")
    except (OSError, RedisError):
        abort(503)
    return jsonify(item=number % ITEMS, bytes=len(text))


@app.get("/slots/<int:number>")
def list_slots(number: int) -> Response:
    """When the basket can be delivered, signed."""
    text = f"slots {number % 70}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"tours", 2500).hex())
