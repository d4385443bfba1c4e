"""Tours by boat: /bookings/<n> books in the primary and shows it from the replica, /tours/<n> reads the replica.

Environment: PRIMARY, REPLICA (address:port), TOURS (how many there are), TIMEOUT_S (how long a booking is waited for).
"""

from __future__ import annotations

import os
import threading
import time

import pymysql
from flask import Flask, Response, abort, jsonify

TOURS, TIMEOUT_S = int(os.environ["TOURS"]), float(os.environ["TIMEOUT_S"])
app = Flask(__name__)
local = threading.local()


def open_database(name: str) -> pymysql.connections.Connection:
    """Return the connection of this thread to PRIMARY or REPLICA."""
    database = getattr(local, name, None)
    if database is None:
        address, port = os.environ[name].split(":")
        database = pymysql.connect(
            host=address, port=int(port), user="web", password="web", database="boats", autocommit=True
        )
        setattr(local, name, database)
    return database


@app.get("/bookings/<int:number>")
def store_booking(number: int) -> Response:
    """Book, and show the booking as the pages of the customer do."""
    with open_database("PRIMARY").cursor() as cursor:
        cursor.execute(
            "INSERT INTO bookings (tour_id, email) VALUES (%s, 'guest@example.net')", (number % TOURS,)
        )
        booking = cursor.lastrowid
    end = time.monotonic() + TIMEOUT_S
    while True:
        with open_database("REPLICA").cursor() as cursor:
            cursor.execute("SELECT tour_id, email FROM bookings WHERE id = %s", (booking,))
            row = cursor.fetchone()
        if row:
            return jsonify(booking=booking, tour=row[0], email=row[1])
        if time.monotonic() > end:
            app.logger.warning("booking %s is not there", booking)
            abort(404)
        time.sleep(0.05)


@app.get("/tours/<int:number>")
def show_tour(number: int) -> Response:
    """A tour and how many guests it has."""
    with open_database("REPLICA").cursor() as cursor:
        cursor.execute("SELECT name, seats FROM tours WHERE id = %s", (number % TOURS,))
        tour = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM bookings WHERE tour_id = %s", (number % TOURS,))
        (guests,) = cursor.fetchone()
    return jsonify(name=tour[0], seats=tour[1], guests=guests)
