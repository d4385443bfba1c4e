"""Views from a lighthouse: /panoramas/<n> paints one and keeps it, /views/<n> describes one.

Environment: KEPT (directory of what is kept), MOST (how many are kept), PICTURE_KB, CANVAS_MB,
HEIGHTS_MB, PAINT_S.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
from pathlib import Path

from flask import Flask, Response, jsonify

KEPT = Path(os.environ["KEPT"])
MOST = int(os.environ["MOST"])
PICTURE_BYTES = int(os.environ["PICTURE_KB"]) << 10
CANVAS_BYTES = int(os.environ["CANVAS_MB"]) << 20
PAINT_S = float(os.environ["PAINT_S"])
#: Heights of the coast, which every worker has in its memory.
HEIGHTS = os.urandom(int(os.environ["HEIGHTS_MB"]) << 20)
app = Flask(__name__)


def remove_oldest() -> None:
    """Keep as many pictures as are allowed."""
    entries = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(KEPT))
    for _, path in entries[: max(0, len(entries) - MOST)]:
        Path(path).unlink(missing_ok=True)


@app.get("/panoramas/<int:number>")
def show_panorama(number: int) -> Response:
    """A picture, painted unless it is kept."""
    file = KEPT / f"{number}.jpg"
    if not file.exists():
        row = hashlib.sha256(HEIGHTS[number : number + 4_096]).digest() * 128
        canvas = row * (CANVAS_BYTES // len(row))
        time.sleep(PAINT_S * random.uniform(0.7, 1.3))
        temporary = file.with_suffix(f".{os.getpid()}-{random.randrange(10**9)}")
        temporary.write_bytes(canvas[:PICTURE_BYTES])
        temporary.replace(file)
        remove_oldest()
    return jsonify(number=number, digest=hashlib.sha256(file.read_bytes()[: 1 << 16]).hexdigest())


@app.get("/views/<int:number>")
def describe_view(number: int) -> Response:
    """What can be seen, with a seal."""
    return jsonify(
        number=number, seal=hashlib.pbkdf2_hmac("sha256", str(number).encode(), b"light", 1500).hex()
    )
