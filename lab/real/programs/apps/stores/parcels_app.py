"""Parcels of a depot, in a file of SQLite: /parcels/<n> reads, /scans/<n> stores a scan, /labels/<n> needs no file.

Environment: PARCELS_FILE, PARCELS (how many there are), BUSY_S (how long SQLite tries again).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing

from flask import Flask, Response, abort, jsonify

PARCELS = int(os.environ["PARCELS"])
app = Flask(__name__)


def open_database() -> sqlite3.Connection:
    """Return a connection of this request."""
    return sqlite3.connect(
        os.environ["PARCELS_FILE"], timeout=float(os.environ["BUSY_S"]), isolation_level=None
    )


@app.get("/parcels/<int:number>")
def show_parcel(number: int) -> Response:
    """A parcel and its last scans."""
    with closing(open_database()) as database:
        parcel = database.execute(
            "SELECT id, state, depot FROM parcels WHERE id = ?", (number % PARCELS,)
        ).fetchone()
        scans = database.execute(
            "SELECT at FROM scans WHERE parcel = ? ORDER BY id DESC LIMIT 5", (number % PARCELS,)
        ).fetchall()
    return jsonify(parcel=parcel, scans=[at for (at,) in scans])


@app.get("/scans/<int:number>")
def store_scan(number: int) -> Response:
    """Store that a parcel was scanned."""
    parcel = number % PARCELS
    try:
        with closing(open_database()) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO scans (parcel, at) VALUES (?, ?)", (parcel, time.time()))
            database.execute("UPDATE parcels SET state = 'scanned' WHERE id = ?", (parcel,))
            database.execute("COMMIT")
    except sqlite3.OperationalError as error:
        app.logger.error("scan of parcel %s: %s", parcel, error)
        abort(500)
    return jsonify(parcel=parcel, state="scanned")


@app.get("/labels/<int:number>")
def build_label(number: int) -> Response:
    """The label of a parcel, signed."""
    text = f"parcel {number}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"depot", 2500).hex())
