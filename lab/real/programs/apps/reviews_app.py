"""Reviews of products, from an index that each worker builds when it starts.

Environment: DATA_DIRECTORY (products-NN.json), HISTORY (pages that a worker remembers; -1 for all), PAGE_KB.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from flask import Flask, Response, jsonify

DATA = Path(os.environ.get("DATA_DIRECTORY", "data"))
HISTORY = int(os.environ.get("HISTORY", "50"))
PAGE_KB = int(os.environ.get("PAGE_KB", "200"))
app = Flask(__name__)
history: dict[int, str] = {}


def build_index() -> dict[str, list[int]]:
    """Return the products by word."""
    index: dict[str, list[int]] = {}
    for _language in range(24):
        for shard in sorted(DATA.glob("products-*.json")):
            for product in json.loads(shard.read_text()):
                for word in re.findall(r"\w+", product["text"].lower()):
                    index.setdefault(word, []).append(product["id"])
    return {word: sorted(set(numbers)) for word, numbers in index.items()}


INDEX = build_index()


@app.get("/reviews/<int:number>")
def get_reviews(number: int) -> Response:
    """The reviews of one product."""
    word = sorted(INDEX)[number % len(INDEX)]
    lines = [f"{product}: {word.title()} {(product * number) % 5 + 1} of 5" for product in INDEX[word]]
    page = "\n".join(sorted(lines * 3))
    history[len(history) if HISTORY < 0 else number % HISTORY] = page * (PAGE_KB * 1000 // len(page))
    return jsonify(word=word, first=page[:2000])


@app.get("/summary/<int:number>")
def get_summary(number: int) -> Response:
    """The number of reviews by word."""
    return jsonify({word: len(products) + number % 7 for word, products in INDEX.items()})
