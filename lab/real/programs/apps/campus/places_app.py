"""Places of a faculty: /places/<n> looks for a free place in the plan of another host, /buildings/<n> is brief.

Environment: PLAN_URL (where the plan is), ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os
import urllib.request

from flask import Flask, Response, jsonify

PLAN_URL, ROUNDS = os.environ["PLAN_URL"], int(os.environ["ROUNDS"])
app = Flask(__name__)


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"place", ROUNDS).hex()


@app.get("/places/<int:number>")
def find_place(number: int) -> Response:
    """A free place, by the plan."""
    with urllib.request.urlopen(f"{PLAN_URL}/plans/{number % 400}", timeout=10) as answer:
        plan = answer.read()
    return jsonify(room=number % 400, place=len(plan) % 90, signature=sign_answer(f"place {number}"))


@app.get("/buildings/<int:number>")
def show_building(number: int) -> Response:
    """A building."""
    return jsonify(building=number % 40, signature=sign_answer(f"building {number}"))
