"""Letters of an insurer: a letter is built and stored in the archive; its state comes from the archive too.

Environment: ARCHIVE_URL (such as http://10.80.2.2:8080), LETTER_BYTES (of a letter of medium size).
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request

from flask import Flask, Response, abort, jsonify

ARCHIVE_URL = os.environ["ARCHIVE_URL"]
LETTER_BYTES = int(os.environ.get("LETTER_BYTES", "8000"))
TIMEOUT_S = float(os.environ.get("ARCHIVE_TIMEOUT_S", "2.5"))
app = Flask(__name__)


def ask_archive(path: str, body: bytes | None = None) -> int:
    """Return the size of the archive's answer."""
    try:
        with urllib.request.urlopen(f"{ARCHIVE_URL}{path}", data=body, timeout=TIMEOUT_S) as answer:
            return len(answer.read())
    except (urllib.error.URLError, OSError):
        abort(502)


@app.get("/letters/<int:number>")
def store_letter(number: int) -> Response:
    """Build a letter and store it."""
    line = hashlib.sha256(str(number).encode()).hexdigest()
    size = LETTER_BYTES * (50 + number % 150) // 100
    text = "\n".join(f"{index} {line}" for index in range(size // 68))
    return jsonify(letter=number, stored=ask_archive(f"/letters/{number}", text.encode()))


@app.get("/states/<int:number>")
def get_state(number: int) -> Response:
    """The state of a letter."""
    return jsonify(letter=number, state=ask_archive(f"/states/{number}"))


@app.get("/forms/<int:number>")
def get_form(number: int) -> Response:
    """A form, signed."""
    text = f"form {number}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"forms", 3000).hex())
