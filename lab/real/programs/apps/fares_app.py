"""Fares of trains: a fare needs the rates of another service, a map those of a third; timetables need neither.

Environment: RATES_URL, MAPS_URL (with names that the host resolves for each request).
"""

from __future__ import annotations

import hashlib
import os
import urllib.request

from flask import Flask, Response, abort, jsonify

app = Flask(__name__)


def fetch_size(url: str) -> int:
    """Return the size of another service's answer."""
    try:
        with urllib.request.urlopen(url, timeout=3) as answer:
            return len(answer.read())
    except OSError as error:
        app.logger.warning("%s: %s", url, error)
        abort(502)


@app.get("/fares/<int:number>")
def show_fare(number: int) -> Response:
    """A fare, with the rates of the day."""
    return jsonify(fare=number, rates=fetch_size(f"{os.environ['RATES_URL']}/rates/{number}"))


@app.get("/maps/<int:number>")
def show_map(number: int) -> Response:
    """A map of the line."""
    return jsonify(line=number, tiles=fetch_size(f"{os.environ['MAPS_URL']}/tiles/{number}"))


@app.get("/timetables/<int:number>")
def show_timetable(number: int) -> Response:
    """A timetable, signed."""
    text = f"timetable {number}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"lines", 2000).hex())
