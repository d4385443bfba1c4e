"""Stays in guesthouses: /stays/<n> books and shows the booking, /houses/<n> shows bookings, /towns/<n> is brief.

Environment: PRIMARY_URL (where bookings are written), STANDBY_URL (where all is read), WAIT_S (how long a booking may
take until it can be read), HOUSES, ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from typing import Any

import psycopg2
from flask import Flask, Response, abort, jsonify

HOUSES, ROUNDS = int(os.environ["HOUSES"]), int(os.environ["ROUNDS"])
WAIT_S, PAUSE_S = float(os.environ["WAIT_S"]), 0.03
BOOK = "INSERT INTO stays (house, guest, nights) VALUES (%s, %s, %s) RETURNING id"
SHOW = "SELECT house, guest, nights FROM stays WHERE id = %s"
LATEST = "SELECT id, guest, nights FROM stays WHERE house = %s ORDER BY id DESC LIMIT 12"
app = Flask(__name__)
local = threading.local()


def run_statement(database: str, text: str, *values: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, over a connection of this thread: database is PRIMARY_URL or STANDBY_URL."""
    if not hasattr(local, database):
        connection = psycopg2.connect(os.environ[database])
        connection.autocommit = True
        setattr(local, database, connection)
    with getattr(local, database).cursor() as cursor:
        cursor.execute(text, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"guest", ROUNDS).hex()


@app.get("/stays/<int:number>")
def book_stay(number: int) -> Response:
    """A booking, as it can be read afterwards."""
    stay = run_statement("PRIMARY_URL", BOOK, number % HOUSES, number, 1 + number % 9)[0][0]
    end = time.monotonic() + WAIT_S
    while not (rows := run_statement("STANDBY_URL", SHOW, stay)):
        if time.monotonic() > end:
            abort(404)
        time.sleep(PAUSE_S)
    return jsonify(stay=stay, booking=list(rows[0]), signature=sign_answer(f"stay {stay}"))


@app.get("/houses/<int:number>")
def show_house(number: int) -> Response:
    """The latest bookings of a house."""
    rows = run_statement("STANDBY_URL", LATEST, number % HOUSES)
    return jsonify(stays=[list(row) for row in rows], signature=sign_answer(f"house {number}"))


@app.get("/towns/<int:number>")
def show_town(number: int) -> Response:
    """A town."""
    return jsonify(town=number % 90, signature=sign_answer(f"town {number}"))
