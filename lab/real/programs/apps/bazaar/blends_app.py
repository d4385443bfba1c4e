"""Blends of a spice merchant: /blends/<n> suggests some for a recipe, /spices/<n> shows what Redis has of a spice.

Environment: REDIS_PORT, SPICES, BLENDS (how many there are), ROUNDS (what an answer costs), RELEASE. From release 12
on, a recipe is compared with all blends and not only with those that begin like it.
"""

from __future__ import annotations

import hashlib
import os
import random
import socket
import threading
from typing import Any

from flask import Flask, Response, jsonify

SPICES, BLENDS, ROUNDS = (int(os.environ[name]) for name in ("SPICES", "BLENDS", "ROUNDS"))
COMPARES_ALL = int(os.environ["RELEASE"]) >= 12
LETTERS = "abcdefghijklmnopqrstuvwxyz"
draw = random.Random(SPICES)
NAMES = ["".join(draw.choices(LETTERS, k=draw.randrange(9, 16))) for _ in range(BLENDS)]
FIELDS = ("grams", "origin", "cents", "supplier", "until", "shelf", "label", "blend")
app = Flask(__name__)
local = threading.local()


def read_value(key: str) -> str:
    """Return the value of a key of Redis, '' where it has none."""
    if not hasattr(local, "store"):
        local.store = socket.create_connection(
            ("127.0.0.1", int(os.environ["REDIS_PORT"])), timeout=4
        ).makefile("rwb")
    stream: Any = local.store
    stream.write(f"GET {key}\r\n".encode())
    stream.flush()
    size = int(stream.readline()[1:])
    return stream.read(size + 2)[:size].decode() if size >= 0 else ""


def measure_distance(left: str, right: str) -> int:
    """Return how many letters must change between two names."""
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (letter != other))
    return row[-1]


def suggest_blends(recipe: str) -> list[str]:
    """Return the names that are most like a recipe."""
    names = NAMES if COMPARES_ALL else [name for name in NAMES if name[0] == recipe[0]]
    return sorted(names, key=lambda name: measure_distance(recipe, name))[:5]


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"spice", ROUNDS).hex()


@app.get("/blends/<int:number>")
def show_blends(number: int) -> Response:
    """Suggestions for a recipe."""
    recipe = NAMES[number % BLENDS][::-1]
    return jsonify(recipe=recipe, blends=suggest_blends(recipe), signature=sign_answer(recipe))


@app.get("/spices/<int:number>")
def show_spice(number: int) -> Response:
    """What the store has of a spice."""
    values = {
        field: len(read_value(f"spice:{(number + offset) % SPICES}")) for offset, field in enumerate(FIELDS)
    }
    return jsonify(spice=number % SPICES, values=values, signature=sign_answer(f"spice {number}"))
