"""Visits of a museum: /visits/<n> sells a ticket, /galleries/<n> shows the latest of a gallery, /hours/<n> is brief.

Environment: DATABASE_URL, GALLERIES, ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any

import psycopg2
from flask import Flask, Response, jsonify

GALLERIES, ROUNDS = int(os.environ["GALLERIES"]), int(os.environ["ROUNDS"])
SELL = "INSERT INTO tickets (gallery, month, guide) VALUES (%s, %s, md5(%s::text)) RETURNING id"
LATEST = "SELECT id, month FROM tickets WHERE gallery = %s ORDER BY id DESC LIMIT 20"
app = Flask(__name__)
local = threading.local()


def run_statement(text: str, *values: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, over the connection of this thread."""
    if getattr(local, "database", None) is None:
        local.database = psycopg2.connect(os.environ["DATABASE_URL"])
        local.database.autocommit = True
    try:
        with local.database.cursor() as cursor:
            cursor.execute(text, values)
            return list(cursor.fetchall())
    except psycopg2.Error:
        local.database.close()
        local.database = None
        raise


@app.errorhandler(psycopg2.Error)
def report_failure(_error: psycopg2.Error) -> tuple[Response, int]:
    """A page for visitors."""
    return jsonify(notice="This page is not available at the moment."), 503


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"visit", ROUNDS).hex()


@app.get("/visits/<int:number>")
def sell_ticket(number: int) -> Response:
    """A ticket for a gallery."""
    ticket = run_statement(SELL, number % GALLERIES, 1 + number % 12, number)[0][0]
    return jsonify(ticket=ticket, signature=sign_answer(f"ticket {ticket}"))


@app.get("/galleries/<int:number>")
def show_gallery(number: int) -> Response:
    """The latest tickets of a gallery."""
    rows = run_statement(LATEST, number % GALLERIES)
    return jsonify(tickets=[list(row) for row in rows], signature=sign_answer(f"gallery {number}"))


@app.get("/hours/<int:number>")
def show_hours(number: int) -> Response:
    """When the museum is open."""
    return jsonify(day=number % 7, signature=sign_answer(f"hours {number}"))
