"""Flights of a travel agency: /seats/<n> asks an airline through a proxy, /airports/<n> needs neither.

Environment: PROXY (http://127.0.0.1:3128), AIRLINE (http://address:port), TIMEOUT_S (for an answer).
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request

from flask import Flask, Response, abort, jsonify

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({"http": os.environ["PROXY"]}))
TIMEOUT_S = float(os.environ["TIMEOUT_S"])
app = Flask(__name__)


@app.get("/seats/<int:number>")
def list_seats(number: int) -> Response:
    """Free seats of a flight, as the airline answers."""
    try:
        with OPENER.open(f"{os.environ['AIRLINE']}/seats/{number}", timeout=TIMEOUT_S) as answer:
            return Response(answer.read(), mimetype="application/json")
    except (urllib.error.URLError, OSError) as error:
        app.logger.warning("seats of %s: %s", number, error)
        abort(502)


@app.get("/airports/<int:number>")
def show_airport(number: int) -> Response:
    """An airport, signed."""
    text = f"airport {number % 300}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"flights", 2500).hex())
