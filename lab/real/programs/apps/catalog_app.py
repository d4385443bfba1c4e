"""The shop's catalog: products from files, a search, prices with tax, and stock levels of another service.

Environment: DATA_DIRECTORY (products-NN.json), STOCK_URL (such as http://10.80.0.2:8088, asked by /stock; "" without),
ACCESS_LOG (a file; "" without), LOG_ERRORS (whether failures of the stock service are logged).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import urllib.error
import urllib.request
from pathlib import Path

from flask import Flask, Response, abort, g, jsonify, request

DATA = Path(os.environ.get("DATA_DIRECTORY", "data"))
STOCK_URL = os.environ.get("STOCK_URL", "")
ACCESS_LOG = os.environ.get("ACCESS_LOG", "")
LOG_ERRORS = bool(os.environ.get("LOG_ERRORS"))
SHARDS = sorted(DATA.glob("products-*.json"))

app = Flask(__name__)
log = Path(ACCESS_LOG).open("a", buffering=1) if ACCESS_LOG else None  # noqa: SIM115


def load_shard(number: int) -> list[dict]:
    """Return the products of one file."""
    return json.loads(SHARDS[number % len(SHARDS)].read_text())


def render_product(product: dict) -> str:
    """Return the product as HTML."""
    tags = "".join(f"<li>{tag.title()}</li>" for tag in product["tags"])
    gross = round(product["price"] * 1.19, 2)
    return f"<h1>{product['name'].title()}</h1><p>{product['text']}</p><ul>{tags}</ul><b>{gross:.2f}</b>"


@app.before_request
def start_timer() -> None:
    g.start = time.monotonic()


@app.after_request
def write_access_log(response: Response) -> Response:
    if log:
        milliseconds = (time.monotonic() - g.start) * 1000
        log.write(
            f"{time.time():.3f} {request.method} {request.path} {response.status_code} {milliseconds:.1f}\n"
        )
    return response


@app.get("/healthz")
def get_health() -> str:
    return "ok\n"


@app.get("/products/<int:number>")
def get_product(number: int) -> str:
    """One product and its neighbours."""
    products = load_shard(number)
    first = number % len(products)
    return "".join(render_product(product) for product in products[first : first + 10])


@app.get("/search/<int:number>")
def search_products(number: int) -> Response:
    """All products that match a word."""
    word = re.compile(rf"\b{('amber', 'cedar', 'fjord', 'maple', 'oak')[number % 5]}\b")
    matches = [
        product["id"]
        for shard in range(number % 3, number % 3 + 3)
        for product in load_shard(shard)
        if word.search(product["text"])
    ]
    return jsonify(matches=matches, total=len(matches))


@app.get("/prices/<int:number>")
def get_prices(number: int) -> Response:
    """A signed price list."""
    lines = [f"{product['id']};{product['price'] * 1.19:.2f}" for product in load_shard(number)]
    signature = hashlib.pbkdf2_hmac("sha256", "\n".join(lines).encode(), b"catalog", 2000)
    return jsonify(lines=lines, signature=signature.hex())


@app.get("/stock/<int:number>")
def get_stock(number: int) -> Response:
    """The stock level of one product, from the stock service."""
    if not STOCK_URL:
        return jsonify(product=number, level=number % 40)
    try:
        with urllib.request.urlopen(f"{STOCK_URL}/levels/{number}", timeout=10) as answer:
            level = len(answer.read())
    except urllib.error.URLError as error:
        if LOG_ERRORS:
            app.logger.warning("stock level of product %d: %s", number, error)
        abort(502)
    return jsonify(product=number, level=level)
