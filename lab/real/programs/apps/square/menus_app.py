"""Menus of a caterer: /menus/<n> orders the dishes of a menu, /events/<n> shows an order, /dishes/<n> is brief.

Environment: DATABASE_URL, DISHES (how many a menu has), EVENTS (how many old orders there are), ROUNDS (what an answer
costs), RELEASE. From release 31 on, the connection commits on its own.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any

import psycopg2
from flask import Flask, Response, jsonify

DISHES, EVENTS, ROUNDS = (int(os.environ[name]) for name in ("DISHES", "EVENTS", "ROUNDS"))
COMMITS = int(os.environ["RELEASE"]) >= 31
app = Flask(__name__)
local = threading.local()


def connect_database() -> Any:
    """Return the connection of this thread."""
    if not hasattr(local, "database"):
        local.database = psycopg2.connect(os.environ["DATABASE_URL"])
        local.database.autocommit = COMMITS
    return local.database


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"menu", ROUNDS).hex()


@app.get("/menus/<int:number>")
def order_menu(number: int) -> Response:
    """An order, with all of its dishes."""
    database = connect_database()
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO events (guests) VALUES (%s) RETURNING id", (number % 200,))
        event = cursor.fetchone()[0]
        for dish in range(DISHES):
            cursor.execute(
                "INSERT INTO dishes (event, dish, portions) VALUES (%s, %s, %s)",
                (event, (number + dish) % 300, number % 200),
            )
    database.commit()
    return jsonify(event=event, signature=sign_answer(f"menu {number}"))


@app.get("/events/<int:number>")
def show_event(number: int) -> Response:
    """The dishes of an earlier order."""
    database = connect_database()
    with database.cursor() as cursor:
        cursor.execute("SELECT dish, portions FROM dishes WHERE event = %s", (1 + number % EVENTS,))
        rows = cursor.fetchall()
    database.commit()
    return jsonify(dishes=[list(row) for row in rows], signature=sign_answer(f"event {number}"))


@app.get("/dishes/<int:number>")
def show_dish(number: int) -> Response:
    """A dish."""
    return jsonify(dish=number % 300, signature=sign_answer(f"dish {number}"))
