"""The orders of the shop: pages, invoices, and updates for which an app waits.

Environment: DATA_DIRECTORY (products-NN.json), WAIT_S (how long /updates waits when nothing changes).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

from flask import Flask, Response, jsonify

DATA = Path(os.environ.get("DATA_DIRECTORY", "data"))
WAIT_S = float(os.environ.get("WAIT_S", "4"))
SHARDS = sorted(DATA.glob("products-*.json"))
app = Flask(__name__)


@app.get("/orders/<int:number>")
def get_order(number: int) -> str:
    """The positions of one order as HTML."""
    products = json.loads(SHARDS[number % len(SHARDS)].read_text())
    rows = [
        f"<tr><td>{item['name'].title()}</td><td>{item['price'] * 1.19:.2f}</td></tr>" for item in products
    ]
    return f"<table>{''.join(rows)}</table>"


@app.get("/invoices/<int:number>")
def get_invoice(number: int) -> Response:
    """A signed invoice."""
    text = f"invoice {number}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"orders", 4000).hex())


@app.get("/orders/<int:number>/updates")
def get_updates(number: int) -> Response:
    """The state of the order as soon as it changes, or after WAIT_S."""
    file = SHARDS[number % len(SHARDS)]
    before, end = file.stat().st_mtime, time.monotonic() + WAIT_S
    while time.monotonic() < end and file.stat().st_mtime == before:
        time.sleep(0.2)
    return jsonify(order=number, state=("packed", "sent", "delivered")[number % 3])
