"""Posters of a print shop: letters that go with them, and pictures that are drawn in memory.

Environment: DOTS_PER_INCH, the resolution of a picture.
"""

from __future__ import annotations

import hashlib
import os
import zlib

from flask import Flask, Response

app = Flask(__name__)
DOTS_PER_INCH = int(os.environ.get("DOTS_PER_INCH", "72"))
WIDTH_INCHES, HEIGHT_INCHES, BYTES_PER_DOT = 16, 24, 4
TERMS = [f"Clause {number}: posters are sent within {number % 9 + 2} days." for number in range(400)]


@app.get("/letters/<int:number>")
def get_letter(number: int) -> Response:
    text = "\n".join(term.replace("posters", f"order {number}") for term in TERMS)
    return Response(f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}\n", mimetype="text/plain")


@app.get("/posters/<int:number>")
def get_poster(number: int) -> Response:
    """A check sum of the picture that goes to the printer."""
    row = bytes((number + column) % 256 for column in range(WIDTH_INCHES * DOTS_PER_INCH)) * BYTES_PER_DOT
    canvas = bytearray(row * (HEIGHT_INCHES * DOTS_PER_INCH))
    canvas[: len(row)] = bytes(len(row))
    picture = bytes(canvas)
    return Response(f"{number} {zlib.crc32(picture)} {len(picture)}\n", mimetype="text/plain")
