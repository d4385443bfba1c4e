"""Claims of an insurer: a page computes a payment or lists claims, and reports its steps to the log of the host.

Environment: LOG_SOCKET (of the host's log), STEPS (lines for a request), DETAIL (characters of a line).
"""

from __future__ import annotations

import hashlib
import logging
import logging.handlers
import os

from flask import Flask, jsonify

STEPS, DETAIL = int(os.environ.get("STEPS", "3")), int(os.environ.get("DETAIL", "200"))
log = logging.getLogger("claims")
log.setLevel(logging.INFO)
handler = logging.handlers.SysLogHandler(os.environ["LOG_SOCKET"])
handler.setFormatter(logging.Formatter("claims[%(process)d]: %(message)s"))
log.addHandler(handler)
app = Flask(__name__)


def report_steps(page: str, number: int) -> None:
    """Report what a request has done."""
    text = hashlib.sha256(f"{page}{number}".encode()).hexdigest() * 16
    for step in range(STEPS):
        log.info("request=%s page=%s claim=%d step=%d data=%s", text[:12], page, number, step, text[:DETAIL])


@app.get("/claims/<int:number>")
def show_claim(number: int):
    """A claim and its payment."""
    report_steps("claims", number)
    return jsonify(claim=number, payment=round(number % 9973 * 1.17, 2))


@app.get("/lists/<int:number>")
def list_claims(number: int):
    """The claims of a customer."""
    claims = [hashlib.md5(f"{number} {index}".encode()).hexdigest() for index in range(40)]
    report_steps("lists", number)
    return jsonify(customer=number, claims=claims)


@app.get("/rates/<int:number>")
def show_rate(number: int):
    """The rate of a contract, which needs some work."""
    digest = hashlib.pbkdf2_hmac("sha256", str(number).encode(), b"rates", 2000).hex()
    report_steps("rates", number)
    return jsonify(contract=number, rate=int(digest[:4], 16) / 65_536)
