"""A workshop's site: /services/<n> and /prices/<n> are computed, /enquiries/<n> sends a mail to the office.

Environment: RELAY (address:port of the mail relay).
"""

from __future__ import annotations

import hashlib
import os
import smtplib
from email.message import EmailMessage

from flask import Flask, Response, jsonify

HOST, PORT = os.environ["RELAY"].split(":")
app = Flask(__name__)


@app.errorhandler(smtplib.SMTPException)
@app.errorhandler(OSError)
def report_mail(error: Exception) -> tuple[Response, int]:
    """The answer where a mail was not accepted."""
    return jsonify(error=str(error)), 503


@app.get("/services/<int:number>")
def show_service(number: int) -> Response:
    """A service with its steps."""
    steps = [hashlib.sha256(f"{number} {step}".encode()).hexdigest() for step in range(300)]
    return jsonify(number=number, steps=sorted(steps)[:20])


@app.get("/prices/<int:number>")
def list_prices(number: int) -> Response:
    """A signed list of prices."""
    lines = [f"{item};{(number * item) % 997 * 1.19:.2f}" for item in range(60)]
    signature = hashlib.pbkdf2_hmac("sha256", "\n".join(lines).encode(), b"workshop", 1200)
    return jsonify(lines=lines, signature=signature.hex())


@app.get("/enquiries/<int:number>")
def send_enquiry(number: int) -> Response:
    """An enquiry of a customer, which the office gets as a mail."""
    mail = EmailMessage()
    mail["From"], mail["To"] = "site@workshop.example", "office@workshop.example"
    mail["Subject"] = f"Enquiry {number}"
    mail.set_content("\n".join(f"Question {line} of enquiry {number}" for line in range(12)))
    with smtplib.SMTP(HOST, int(PORT)) as relay:
        relay.send_message(mail)
    return jsonify(sent=number)
