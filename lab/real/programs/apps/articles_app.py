"""A magazine: articles composed of fragments, images, comments and subscriptions, as a WSGI application.

Environment: DATA_DIRECTORY (products-NN.json), CONTENT_DIRECTORY (fragment-NNN.html), MEDIA_DIRECTORY (image-NNN.jpg),
COMMENT_DIRECTORY, JOURNAL_DIRECTORY, FRAGMENTS (per article), LOG_FILE, LOG_LEVEL, LOG_SYNC ("1": lines are durable).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import time
from pathlib import Path

from flask import Flask, Response, abort, g, jsonify, request

DATA = Path(os.environ.get("DATA_DIRECTORY", "data"))
CONTENT = Path(os.environ.get("CONTENT_DIRECTORY", "content"))
MEDIA = Path(os.environ.get("MEDIA_DIRECTORY", "media"))
COMMENTS = Path(os.environ.get("COMMENT_DIRECTORY", "comments"))
JOURNAL = Path(os.environ.get("JOURNAL_DIRECTORY", "journal"))
FRAGMENTS = int(os.environ.get("FRAGMENTS", "20"))
KEPT_COMMENTS = 300

app = Flask(__name__)
log = logging.getLogger("articles")
sequence = itertools.count()


class DurableHandler(logging.FileHandler):
    """A log whose lines are on disk when the request goes on."""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        if self.stream:
            os.fdatasync(self.stream.fileno())


def configure_log() -> None:
    """Log to LOG_FILE, or nowhere."""
    if not os.environ.get("LOG_FILE"):
        log.addHandler(logging.NullHandler())
        return
    kind = DurableHandler if os.environ.get("LOG_SYNC") == "1" else logging.FileHandler
    handler = kind(os.environ["LOG_FILE"])
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(funcName)s %(message)s")
    )
    log.addHandler(handler)
    log.setLevel(os.environ.get("LOG_LEVEL", "INFO"))
    log.propagate = False


configure_log()


@app.before_request
def start_timer() -> None:
    """Note when the request began."""
    g.start = time.monotonic()


@app.after_request
def log_request(response: Response) -> Response:
    """Log the request and its duration."""
    milliseconds = (time.monotonic() - g.start) * 1000
    log.info("%s %s %s %.1f ms", request.method, request.path, response.status_code, milliseconds)
    return response


@app.get("/articles/<int:number>")
def get_article(number: int) -> str:
    """One article, composed of its fragments."""
    parts = []
    for index in range(FRAGMENTS):
        file = CONTENT / f"fragment-{(number * 7 + index) % 400:03}.html"
        text = file.read_text()
        parts.append(f"<section>{text.strip()}</section>")
        log.debug("fragment %s of article %s: %s", file.name, number, text)
    return "".join(parts)


@app.get("/topics/<int:number>")
def get_topic(number: int) -> Response:
    """What belongs to a topic, signed."""
    files = sorted(DATA.glob("products-*.json"))
    entries = json.loads(files[number % len(files)].read_text())
    titles = [entry["name"].title() for entry in entries]
    for entry in entries:
        log.debug("entry %s", entry)
    signature = hashlib.pbkdf2_hmac("sha256", "\n".join(titles).encode(), b"topics", 2000)
    return jsonify(titles=titles, signature=signature.hex())


@app.get("/images/<int:number>")
def get_image(number: int) -> Response:
    """An image of the media store."""
    data = (MEDIA / f"image-{number % 200:03}.jpg").read_bytes()
    return Response(data, mimetype="image/jpeg", headers={"ETag": hashlib.sha1(data).hexdigest()})


@app.get("/comment/<int:number>")
def save_comment(number: int) -> Response:
    """Save a comment as a file of its own; the oldest one of this worker makes room."""
    name = COMMENTS / f"comment-{os.getpid()}-{next(sequence) % KEPT_COMMENTS}.json"
    draft = name.with_suffix(".draft")
    try:
        draft.write_text(json.dumps({"article": number, "text": "well written " * 20}))
        draft.rename(name)
    except OSError as error:
        log.error("comment on article %s not saved: %s", number, error)
        abort(500)
    return jsonify(saved=number)


@app.get("/subscribe/<int:number>")
def save_subscription(number: int) -> Response:
    """Add a subscription to the journal."""
    try:
        with (JOURNAL / f"subscriptions-{os.getpid()}.jsonl").open("a") as journal:
            journal.write(json.dumps({"reader": number, "at": time.time(), "terms": "yearly " * 300}) + "\n")
            journal.flush()
            os.fdatasync(journal.fileno())
    except OSError as error:
        log.error("subscription of reader %s not saved: %s", number, error)
        abort(500)
    return jsonify(subscribed=number)
