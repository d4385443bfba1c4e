"""Suggestions of a bookshop: /similar/<n> compares titles by numpy, /titles/<n> needs no matrix.

Environment: SHELVES, TITLES (on each shelf), TASTES (numbers that describe a title), READERS (compared in one request).
"""

from __future__ import annotations

import hashlib
import os

import numpy
from flask import Flask, Response, jsonify

SHELVES, TITLES, TASTES, READERS = (
    int(os.environ[name]) for name in ("SHELVES", "TITLES", "TASTES", "READERS")
)
app = Flask(__name__)
draw = numpy.random.default_rng(7)
shelves = [draw.random((TITLES, TASTES), dtype=numpy.float32) for _ in range(SHELVES)]
readers = draw.random((TASTES, 4 * READERS), dtype=numpy.float32)


@app.get("/similar/<int:number>")
def list_similar(number: int) -> Response:
    """Titles that readers of a title like."""
    first = number % (3 * READERS)
    wishes = numpy.ascontiguousarray(readers[:, first : first + READERS])
    best = [int(numpy.argmax((shelf @ wishes).sum(axis=1))) for shelf in shelves]
    return jsonify(title=number % TITLES, similar=best)


@app.get("/titles/<int:number>")
def show_title(number: int) -> Response:
    """A title, signed."""
    text = f"title {number % TITLES}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"books", 2500).hex())
