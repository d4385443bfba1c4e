"""Picks of a warehouse: /picks/<n> hands a pick over to the packers, /shelves/<n> shows what is on a shelf.

Environment: QUEUE (address:port of a beanstalkd), WORDS (how long the text of a pick is).
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from typing import BinaryIO

from flask import Flask, Response, abort, jsonify

ADDRESS, _, PORT = os.environ["QUEUE"].partition(":")
WORDS = int(os.environ["WORDS"])
app = Flask(__name__)
local = threading.local()


def open_stream() -> BinaryIO:
    """Return the connection of this thread."""
    if getattr(local, "stream", None) is None:
        local.stream = socket.create_connection((ADDRESS, int(PORT)), timeout=10).makefile("rwb")
    stream: BinaryIO = local.stream
    return stream


@app.get("/picks/<int:number>")
def add_pick(number: int) -> Response:
    """Hand a pick over; the answer has its number."""
    body = (f"pick {number}; " * WORDS).encode()
    try:
        stream = open_stream()
        stream.write(b"put 100 0 60 %d\r\n%s\r\n" % (len(body), body))
        stream.flush()
        answer = stream.readline().split()
    except OSError as error:
        app.logger.warning("queue: %s", error)
        answer = []
    if not answer or answer[0] != b"INSERTED":
        local.stream = None
        abort(503)
    return jsonify(number=int(answer[1]))


@app.get("/shelves/<int:number>")
def show_shelf(number: int) -> Response:
    """What is on a shelf, signed."""
    text = f"shelf {number % 300}"
    return jsonify(shelf=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"aisle", 1500).hex())
