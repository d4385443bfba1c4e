"""Labels of a bottler: /labels/<n> is printed at once, /sheets/<n> is printed later, /bottles/<n> is brief.

Environment: QUEUE (address:port of a beanstalkd), SPOOL (where labels get to), RUN_S (how long a printer may take
before another gets the job), ROUNDS (what a brief answer costs).
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import BinaryIO

from flask import Flask, Response, abort, jsonify

ADDRESS, _, PORT = os.environ["QUEUE"].partition(":")
SPOOL, RUN_S, ROUNDS = Path(os.environ["SPOOL"]), int(os.environ["RUN_S"]), int(os.environ["ROUNDS"])
WAIT_S = 3.0
app = Flask(__name__)
local = threading.local()


def open_stream() -> BinaryIO:
    """Return the connection of this thread."""
    if getattr(local, "stream", None) is None:
        local.stream = socket.create_connection((ADDRESS, int(PORT)), timeout=10).makefile("rwb")
    stream: BinaryIO = local.stream
    return stream


def add_job(kind: str, number: int) -> str:
    """Hand a job over to the printers. Return its ticket."""
    ticket = uuid.uuid4().hex
    body = f"{kind} {number} {ticket}".encode()
    try:
        stream = open_stream()
        stream.write(b"put 100 0 %d %d\r\n%s\r\n" % (RUN_S, len(body), body))
        stream.flush()
        answer = stream.readline().split()
    except OSError as error:
        app.logger.warning("queue: %s", error)
        answer = []
    if not answer or answer[0] != b"INSERTED":
        local.stream = None
        abort(503)
    return ticket


@app.get("/labels/<int:number>")
def print_label(number: int) -> Response:
    """A label, as soon as it is printed."""
    file, end = SPOOL / add_job("label", number), time.monotonic() + WAIT_S
    while not file.exists():
        if time.monotonic() > end:
            abort(504)
        time.sleep(0.02)
    label = file.read_bytes()
    file.unlink()
    return jsonify(label=hashlib.sha256(label).hexdigest())


@app.get("/sheets/<int:number>")
def print_sheet(number: int) -> Response:
    """A sheet of labels, which comes by mail."""
    return jsonify(ticket=add_job("sheet", number))


@app.get("/bottles/<int:number>")
def describe_bottle(number: int) -> Response:
    """A bottle."""
    seal = hashlib.pbkdf2_hmac("sha256", f"bottle {number}".encode(), b"cork", ROUNDS).hex()
    return jsonify(bottle=number % 70, seal=seal)
