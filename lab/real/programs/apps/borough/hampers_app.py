"""A shop for hampers: /hampers/<n> is brief, /parcels/<n> asks the courier what a parcel costs.

Environment: COURIER (name:port), ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import urllib.request

from flask import Flask, Response, abort, jsonify

COURIER, ROUNDS = os.environ["COURIER"], int(os.environ["ROUNDS"])
app = Flask(__name__)


def sign_text(text: str) -> str:
    """Return the signature of a text."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"wicker", ROUNDS).hex()


@app.get("/hampers/<int:number>")
def describe_hamper(number: int) -> Response:
    """A hamper."""
    return jsonify(hamper=number % 300, seal=sign_text(f"hamper {number}"))


@app.get("/parcels/<int:number>")
def price_parcel(number: int) -> Response:
    """What the courier wants for a parcel."""
    try:
        with urllib.request.urlopen(f"http://{COURIER}/prices/{number}", timeout=5) as answer:
            size = len(answer.read())
    except OSError as error:
        app.logger.warning("courier: %s", error)
        abort(502)
    return jsonify(cents=490 + size % 100, seal=sign_text(f"parcel {number}"))
