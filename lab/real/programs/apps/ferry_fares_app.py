"""Fares of a ferry company: worked out from what the agency of the harbor answers, or without it for a depot.

Environment: AGENCY_URL (such as http://10.80.0.2:8080), FARE_BYTES (of the fares of a sailing), ROUNDS (of hashing).
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request

from flask import Flask, Response, abort

AGENCY_URL = os.environ["AGENCY_URL"]
FARE_BYTES = int(os.environ.get("FARE_BYTES", "8000"))
ROUNDS = int(os.environ.get("ROUNDS", "2000"))
app = Flask(__name__)


@app.get("/fares/<int:sailing>")
def list_fares(sailing: int) -> Response:
    """The fares of a sailing as text."""
    try:
        with urllib.request.urlopen(f"{AGENCY_URL}/berths/{sailing}", timeout=8) as answer:
            berths = answer.read()
    except (urllib.error.URLError, OSError):
        abort(502)
    line = hashlib.pbkdf2_hmac("sha256", berths, str(sailing).encode(), ROUNDS).hex()
    size = FARE_BYTES * (70 + sailing % 60) // 100
    return Response((line * (size // len(line) + 1))[:size], mimetype="text/plain")
