"""Reports of a shop: small summaries, and exports of a whole month as text.

Environment: EXPORT_KILOBYTES, the size of an export.
"""

from __future__ import annotations

import hashlib
import os

from flask import Flask, Response, jsonify

app = Flask(__name__)
SIZE_BYTES = int(os.environ.get("EXPORT_KILOBYTES", "4000")) * 1024
LINES = [f"{number};open;{number * 37 % 1000};{number % 91}.50" for number in range(900)]


@app.get("/summary/<int:number>")
def get_summary(number: int) -> Response:
    """The totals of one day."""
    total = sum(int(line.split(";")[2]) * (number % 7 + 1) for line in LINES)
    return jsonify(day=number, total=total, check=hashlib.sha256("".join(LINES).encode()).hexdigest())


@app.get("/customers/<int:number>")
def get_customer(number: int) -> str:
    """The orders of one customer, as a table."""
    rows = (line.split(";") for line in LINES[number % 300 : number % 300 + 200])
    return "".join(f"<tr><td>{row[0]}</td><td>{row[1].title()}</td><td>{row[2]:>6}</td></tr>" for row in rows)


@app.get("/exports/<int:number>")
def get_export(number: int) -> Response:
    """All orders of one month."""
    block = "\n".join(f"{number};{line}" for line in LINES).encode()
    return Response((block * (SIZE_BYTES // len(block) + 1))[:SIZE_BYTES], mimetype="text/csv")
