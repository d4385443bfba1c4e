"""Invoices of a company: /invoices/<n> is a page of the list, /customers/<n> a customer, /forms/<n> needs no rows.

Environment: DATABASE (a URL of PostgreSQL), ROWS (invoices), RELEASE (from 32 on, lists have a line about all of them).
"""

from __future__ import annotations

import hashlib
import os
import threading

import psycopg2
from flask import Flask, jsonify

ROWS, RELEASE = int(os.environ["ROWS"]), int(os.environ["RELEASE"])
PAGE = "SELECT id, customer, amount, state FROM invoices WHERE id > %s ORDER BY id LIMIT 20"
SUMMARY = "SELECT count(*), sum(amount), max(issued_at) FROM invoices WHERE state <> 'draft'"
CUSTOMER = "SELECT id, amount, state FROM invoices WHERE customer = %s ORDER BY id DESC LIMIT 10"
store = threading.local()
app = Flask(__name__)


def fetch_rows(statement: str, *words: int):
    """Return rows over the connection of this thread."""
    if not hasattr(store, "connection"):
        store.connection = psycopg2.connect(os.environ["DATABASE"])
        store.connection.autocommit = True
    with store.connection.cursor() as cursor:
        cursor.execute(statement, words)
        return [[str(value) for value in row] for row in cursor.fetchall()]


@app.get("/invoices/<int:number>")
def list_invoices(number: int):
    """A page of the list."""
    rows = fetch_rows(PAGE, number % ROWS)
    summary = fetch_rows(SUMMARY)[0] if RELEASE >= 32 else []
    return jsonify(rows=rows, summary=summary)


@app.get("/customers/<int:number>")
def show_customer(number: int):
    """The last invoices of a customer."""
    return jsonify(fetch_rows(CUSTOMER, number % (ROWS // 40)))


@app.get("/forms/<int:number>")
def show_form(number: int):
    """A form with a signature."""
    text = f"form {number}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"forms", 1500).hex())
