"""Bookings of rooms in a SQLite file: a page writes one row, another reads the last ones.

Environment: DATABASE (the file), JOURNAL and SYNCHRONOUS (pragmas of SQLite), HOUSES (with rows of their own).
"""

from __future__ import annotations

import os
import sqlite3
import threading

from flask import Flask, jsonify

HOUSES = int(os.environ.get("HOUSES", "40"))
local = threading.local()
app = Flask(__name__)


def get_database() -> sqlite3.Connection:
    """Return the connection of this thread."""
    if not hasattr(local, "database"):
        database = sqlite3.connect(os.environ["DATABASE"], timeout=10.0, isolation_level=None)
        database.execute(f"PRAGMA journal_mode = {os.environ.get('JOURNAL', 'WAL')}")
        database.execute(f"PRAGMA synchronous = {os.environ.get('SYNCHRONOUS', 'NORMAL')}")
        local.database = database
    return local.database


@app.get("/book/<int:number>")
def book_room(number: int):
    """Write one booking."""
    words = [number % HOUSES, number, f"guest {number * 7919 % 100_003}"]
    cursor = get_database().execute("INSERT INTO bookings (house, night, guest) VALUES (?, ?, ?)", words)
    return jsonify(booking=cursor.lastrowid)


@app.get("/houses/<int:number>")
def show_house(number: int):
    """The last bookings of a house."""
    query = "SELECT id, night, guest FROM bookings WHERE house = ? ORDER BY id DESC LIMIT 20"
    return jsonify(house=number, bookings=get_database().execute(query, [number % HOUSES]).fetchall())


@app.get("/prices/<int:number>")
def show_prices(number: int):
    """The prices of a month, which need no row."""
    return jsonify(house=number, prices=[round(49 + (number * day) % 97 * 1.07, 2) for day in range(1, 31)])
