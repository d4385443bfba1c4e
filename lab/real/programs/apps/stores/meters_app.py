"""Meters of a utility: /readings/<n> hands a reading to the broker and waits until it has it, /tariffs/<n> does not.

Environment: BROKER (address:port of MQTT), TIMEOUT_S (for its confirmation).
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading

from flask import Flask, Response, abort, jsonify

ADDRESS, PORT = os.environ["BROKER"].split(":")
TIMEOUT_S = float(os.environ["TIMEOUT_S"])
app = Flask(__name__)
local = threading.local()


def build_packet(kind: int, body: bytes) -> bytes:
    """Return a packet of MQTT 3.1.1; bodies are shorter than 16 kB."""
    size = bytes([len(body)]) if len(body) < 128 else bytes([len(body) % 128 | 0x80, len(body) // 128])
    return bytes([kind]) + size + body


def receive_message(connection: socket.socket) -> bytes:
    """Return the next packet, all of which have four bytes here."""
    packet = b""
    while len(packet) < 4:
        part = connection.recv(4 - len(packet))
        if not part:
            raise ConnectionError("the broker closed the connection")
        packet += part
    return packet


def open_broker() -> socket.socket:
    """Return the connection of this thread."""
    connection = getattr(local, "connection", None)
    if connection is None:
        connection = socket.create_connection((ADDRESS, int(PORT)), timeout=TIMEOUT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = f"portal-{os.getpid()}-{threading.get_ident() % 100_000}".encode()
        connection.sendall(build_packet(0x10, b"\0\4MQTT\4\2\0\0" + len(name).to_bytes(2, "big") + name))
        receive_message(connection)
        local.connection, local.number = connection, 0
    return connection


@app.get("/readings/<int:number>")
def store_reading(number: int) -> Response:
    """Hand the reading of a customer over."""
    try:
        connection = open_broker()
        local.number = local.number % 60_000 + 1
        topic = b"portal/%d/reading" % (number % 5000)
        body = (
            len(topic).to_bytes(2, "big") + topic + local.number.to_bytes(2, "big") + b'{"kwh":%d}' % number
        )
        connection.sendall(build_packet(0x33, body))
        receive_message(connection)
    except OSError as error:
        local.connection = None
        app.logger.warning("reading %s: %s", number, error)
        abort(503)
    return jsonify(reading=number, stored=True)


@app.get("/tariffs/<int:number>")
def show_tariff(number: int) -> Response:
    """A tariff, signed."""
    text = f"tariff {number % 40}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"utility", 2500).hex())
