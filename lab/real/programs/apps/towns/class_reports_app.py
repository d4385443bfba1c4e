"""Reports of a school: /reports/<n> prints the reports of a class, /classes/<n> shows its timetable.

Environment: REPORT_MB (how large a print is), PRINTER_S (how long the printer takes to accept it).
"""

from __future__ import annotations

import hashlib
import os
import random
import time

from flask import Flask, Response, jsonify

REPORT_BYTES = int(os.environ["REPORT_MB"]) << 20
PRINTER_S = float(os.environ["PRINTER_S"])
SUBJECTS = ("algebra", "biology", "chemistry", "drawing", "english", "french", "geography", "history")
app = Flask(__name__)


@app.get("/reports/<int:number>")
def print_reports(number: int) -> Response:
    """The reports of a class, laid out as one print."""
    page = "".join(f"pupil {number}-{row} {SUBJECTS[(number + row) % 8]} {row % 6}\n" for row in range(400))
    block = page.encode().ljust(16_384)
    sheet = block * (REPORT_BYTES // len(block))
    digest = hashlib.sha256(sheet[: 1 << 20]).hexdigest()
    time.sleep(PRINTER_S * random.uniform(0.7, 1.3))
    return jsonify(size=len(sheet), digest=digest)


@app.get("/classes/<int:number>")
def show_class(number: int) -> Response:
    """The timetable of a class, signed."""
    lessons = [SUBJECTS[(number * 7 + hour) % 8] for hour in range(30)]
    seal = hashlib.pbkdf2_hmac("sha256", repr(lessons).encode(), b"school", 1500).hex()
    return jsonify(lessons=lessons, seal=seal)
