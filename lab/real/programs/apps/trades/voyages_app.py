"""Voyages: /fares/<n> has the fare of a partner, /ports/<n> and /cabins/<n> need no partner.

Environment: PARTNER (name:port), CONNECT_S (for how long each address of the partner is tried), ROUNDS.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import socket

from flask import Flask, Response, abort, jsonify

NAME, _, PORT = os.environ["PARTNER"].partition(":")
CONNECT_S, ROUNDS = float(os.environ["CONNECT_S"]), int(os.environ["ROUNDS"])
app = Flask(__name__)


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"pier", ROUNDS).hex()


@app.get("/fares/<int:number>")
def show_fare(number: int) -> Response:
    """A fare of the partner."""
    connection = http.client.HTTPConnection(NAME, int(PORT), timeout=CONNECT_S)
    try:
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.request("GET", f"/fares/{number}", headers={"Connection": "close"})
        fare = connection.getresponse().read().decode()
    except OSError as error:
        app.logger.warning("fares: %s", error)
        abort(503)
    finally:
        connection.close()
    return jsonify(fare=fare, signature=sign_answer(fare))


@app.get("/ports/<int:number>")
def show_port(number: int) -> Response:
    """The ports of a voyage."""
    ports = [f"port {(number * 7 + index) % 90}" for index in range(12)]
    return jsonify(ports=ports, signature=sign_answer(ports[0]))


@app.get("/cabins/<int:number>")
def list_cabins(number: int) -> Response:
    """The cabins of a ship."""
    return jsonify(cabins=list(range(number % 9, 60)), signature=sign_answer(f"ship {number}"))
