"""Prints of photos: POST /pictures/<n> takes a picture, /papers/<n> has the papers of a size, /prices/<n> a price.

Environment: ROUNDS (what an answer costs).
"""

from __future__ import annotations

import hashlib
import os

from flask import Flask, Response, jsonify, request

ROUNDS = int(os.environ["ROUNDS"])
app = Flask(__name__)


def sign_answer(text: str) -> str:
    """Return the signature of an answer."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"gloss", ROUNDS).hex()


@app.post("/pictures/<int:number>")
def take_picture(number: int) -> Response:
    """Take a picture, and answer with its digest."""
    digest, size = hashlib.sha256(), 0
    while part := request.stream.read(32_768):
        digest.update(part)
        size += len(part)
    return jsonify(number=number, size=size, digest=digest.hexdigest())


@app.get("/papers/<int:number>")
def list_papers(number: int) -> Response:
    """The papers on which a picture of this size is printed."""
    papers = [{"paper": f"paper {number % 40 + index}", "gloss": index % 3} for index in range(24)]
    return jsonify(papers=papers, signature=sign_answer(f"papers {number}"))


@app.get("/prices/<int:number>")
def show_price(number: int) -> Response:
    """The price of a number of prints."""
    return jsonify(prints=number, price=round(number * 0.19, 2), signature=sign_answer(f"price {number}"))
