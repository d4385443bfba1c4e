"""Loyalty points: entries go through a library for the ledger, statements are drawn here.

Environment: DATA_DIRECTORY (products-NN.json), LEDGER (the library), BOOKS (of the ledger), CONFIRM_US (of an entry).
"""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

from flask import Flask, jsonify

DATA = Path(os.environ.get("DATA_DIRECTORY", "data"))
CONFIRM_US = int(os.environ.get("CONFIRM_US", "5000"))
FILES = sorted(DATA.glob("products-*.json"))
LEDGER = ctypes.CDLL(os.environ["LEDGER"])
LEDGER.ledger_post.restype = ctypes.c_long
LEDGER.ledger_balance.restype = ctypes.c_long
LEDGER.ledger_open(ctypes.c_uint(int(os.environ.get("BOOKS", "64"))))
app = Flask(__name__)


@app.get("/earn/<int:number>")
def earn_points(number: int):
    """Post an entry."""
    balance = LEDGER.ledger_post(ctypes.c_uint(number), ctypes.c_long(number % 50), ctypes.c_uint(CONFIRM_US))
    return jsonify(account=number, balance=balance)


@app.get("/balance/<int:number>")
def get_balance(number: int):
    """The balance of an account."""
    return jsonify(account=number, balance=LEDGER.ledger_balance(ctypes.c_uint(number)))


@app.get("/rewards/<int:number>")
def list_rewards(number: int):
    """What the points of an account buy."""
    products = json.loads(FILES[number % len(FILES)].read_text())
    cheap = sorted((item["price"], item["name"]) for item in products if item["price"] < number % 400)
    return jsonify(account=number, rewards=cheap[:10])
