"""Documents of a shop: letters from a template, and invoices that a program of the system compresses."""

from __future__ import annotations

import hashlib
import subprocess

from flask import Flask, Response

app = Flask(__name__)
CLAUSES = [f"Clause {number}: goods are delivered within {number % 9 + 2} days." for number in range(400)]


def render_letter(number: int) -> str:
    """Return the text of a letter."""
    clauses = "\n".join(clause.replace("goods", f"order {number}") for clause in CLAUSES)
    return f"Letter {number}\n{clauses}\n{hashlib.sha256(clauses.encode()).hexdigest()}\n"


@app.get("/letters/<int:number>")
def get_letter(number: int) -> Response:
    return Response(render_letter(number), mimetype="text/plain")


@app.get("/invoices/<int:number>")
def get_invoice(number: int) -> Response:
    """An invoice as a compressed file."""
    done = subprocess.run(
        ["gzip", "-9", "-c"], input=render_letter(number).encode(), capture_output=True, check=True
    )
    return Response(done.stdout, mimetype="application/gzip")


@app.get("/receipts/<int:number>")
def get_receipt(number: int) -> Response:
    """A receipt with a check sum of the system's own tool."""
    done = subprocess.run(["cksum"], input=render_letter(number).encode(), capture_output=True, check=True)
    return Response(done.stdout, mimetype="text/plain")
