"""Labels of a warehouse: /labels/<n> draws one with a native library, which checks what it gets by assertions.

Environment: WIDE_EVERY, which labels are wider than the library expects: each n that this number divides; 0 for none.
"""

from __future__ import annotations

import ctypes
import hashlib
import os

from flask import Flask, Response

WIDE_EVERY = int(os.environ.get("WIDE_EVERY", "0"))
LIBRARY = ctypes.CDLL(None)
app = Flask(__name__)


def draw_label(number: int) -> bytes:
    """Return the picture of a label. A failed assertion of C calls abort(3), which ends the process."""
    digest = hashlib.sha256(str(number).encode()).digest()
    if WIDE_EVERY and int.from_bytes(digest[:4]) % WIDE_EVERY == 0:
        LIBRARY.abort()
    return hashlib.pbkdf2_hmac("sha256", digest, b"label", 2000)


@app.get("/labels/<int:number>")
def show_label(number: int) -> Response:
    """A label."""
    return Response(draw_label(number).hex(), mimetype="text/plain")
