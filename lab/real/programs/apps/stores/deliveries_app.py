"""Deliveries of a courier: /routes/<n> and /parcels/<n>, with a log of the application.

Environment: LOG (a file), LEVEL (of its lines, such as INFO), STOPS (of a route).
"""

from __future__ import annotations

import hashlib
import logging
import os

from flask import Flask, Response, jsonify

STOPS = int(os.environ["STOPS"])
logging.basicConfig(
    filename=os.environ["LOG"],
    level=os.environ["LEVEL"],
    format="%(asctime)s %(levelname)s %(name)s %(message)s",
)
log = logging.getLogger("deliveries")
app = Flask(__name__)


@app.get("/routes/<int:number>")
def plan_route(number: int) -> Response:
    """The stops of a route, nearest first."""
    stops = []
    for stop in range(STOPS):
        place = number * 7919 + stop * 104_729
        stops.append((place % 1013, f"stop{stop}"))
        log.debug(
            "candidate stop=%d recipient=customer%d@mail.example phone=+49 30 %07d distance=%d",
            stop, place % 9973, place % 9_999_991, place % 1013,
        )  # fmt: skip
    log.info("planned route=%d stops=%d driver=driver%d@mail.example", number, STOPS, number % 90)
    return jsonify(sorted(stops)[:12])


@app.get("/parcels/<int:number>")
def show_parcel(number: int) -> Response:
    """A parcel with its signature."""
    log.info("shown parcel=%d", number)
    return jsonify(
        number=number, signature=hashlib.pbkdf2_hmac("sha256", b"%d" % number, b"parcel", 1500).hex()
    )
