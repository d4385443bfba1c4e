"""The book of a smithy: /entries/<n> adds a line to it, /pieces/<n> describes a piece of work.

Environment: BOOK (the file), LOCK (the file whose lock a writer of the book holds), ROUNDS (what an answer costs).
"""

from __future__ import annotations

import fcntl
import hashlib
import os

from flask import Flask, Response, jsonify

BOOK, LOCK, ROUNDS = os.environ["BOOK"], os.environ["LOCK"], int(os.environ["ROUNDS"])
app = Flask(__name__)


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"anvil", ROUNDS).hex()


@app.get("/entries/<int:number>")
def add_entry(number: int) -> Response:
    """A new line of the book."""
    line = f"{number % 900} {1 + number % 12} {sign_answer(f'entry {number}')}\n"
    with open(LOCK, "a") as lock:  # noqa: PTH123
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(BOOK, "a") as book:  # noqa: PTH123
            book.write(line)
            size = book.tell()
    return jsonify(entry=number, size=size)


@app.get("/pieces/<int:number>")
def describe_piece(number: int) -> Response:
    """A piece of work."""
    return jsonify(piece=number % 300, seal=sign_answer(f"piece {number}"))
