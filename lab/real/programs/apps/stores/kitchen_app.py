"""Orders of a kitchen: /orders/<n> hands one to a queue, /menu/<n> and /hours/<n> need no queue.

Environment: BROKER_PORT, QUEUE, TIMEOUT_S (how long a connection may be blocked).
"""

from __future__ import annotations

import hashlib
import json
import os
import threading

import pika
from flask import Flask, Response, abort, jsonify

QUEUE = os.environ["QUEUE"]
app = Flask(__name__)
local = threading.local()


def open_channel() -> pika.adapters.blocking_connection.BlockingChannel:
    """Return the channel of this thread, on which the broker confirms what it has."""
    if getattr(local, "channel", None) is None:
        parameters = pika.ConnectionParameters(
            "127.0.0.1", int(os.environ["BROKER_PORT"]), credentials=pika.PlainCredentials("shop", "shop"),
            heartbeat=0, socket_timeout=5, blocked_connection_timeout=float(os.environ["TIMEOUT_S"]),
        )  # fmt: skip
        channel = pika.BlockingConnection(parameters).channel()
        channel.confirm_delivery()
        local.channel = channel
    return local.channel


@app.get("/orders/<int:number>")
def queue_order(number: int) -> Response:
    """Hand an order to the kitchen."""
    try:
        open_channel().basic_publish(
            "", QUEUE, json.dumps({"order": number, "dishes": [number % 40] * 20}).encode(),
            pika.BasicProperties(delivery_mode=2),
        )  # fmt: skip
    except pika.exceptions.AMQPError as error:
        local.channel = None
        app.logger.warning("order %s: %r", number, error)
        abort(503)
    return jsonify(order=number)


def sign_text(text: str) -> Response:
    """Return a text with its signature."""
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"kitchen", 2500).hex())


@app.get("/menu/<int:number>")
def show_menu(number: int) -> Response:
    """A page of the menu."""
    return sign_text(f"menu {number % 60}")


@app.get("/hours/<int:number>")
def show_hours(number: int) -> Response:
    """When a kitchen is open."""
    return sign_text(f"hours {number % 30}")
