"""A worker of one queue: takes jobs as they arrive and works on each for a few tens of milliseconds.

--arrivals names a file with the share of a CPU that arriving jobs need; it is read about once a second.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import random
import re
import time
import zlib
from pathlib import Path


def compress_file(draw: random.Random) -> None:
    """Compress a part of a file."""
    zlib.compress(draw.randbytes(8000) * 20, 6)


def render_rows(draw: random.Random) -> None:
    """Write a table as CSV."""
    text = io.StringIO()
    csv.writer(text).writerows([[draw.random() for _ in range(8)] for _ in range(300)])


def index_text(draw: random.Random) -> None:
    """Count the words of a text."""
    text = " ".join(draw.choices(("north", "harbor", "4711", "garden", "late"), k=3000))
    words: dict[str, int] = {}
    for match in re.finditer(r"\w+", text):
        words[match[0]] = words.get(match[0], 0) + 1


def parse_messages(draw: random.Random) -> None:
    """Write and read messages as JSON."""
    message = json.dumps([{"id": n, "score": draw.random()} for n in range(800)])
    json.loads(message)


def sign_documents(draw: random.Random) -> None:
    """Derive a key for a signature."""
    hashlib.pbkdf2_hmac("sha256", draw.randbytes(64), b"documents", 6000)


KINDS = (compress_file, render_rows, index_text, parse_messages, sign_documents)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queue", required=True)
    parser.add_argument("--arrivals", required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    work = draw.choice(KINDS)
    share, due, read_at = 0.0, time.monotonic(), 0.0
    while True:
        now = time.monotonic()
        if now - read_at > 1:
            share, read_at = float(Path(options.arrivals).read_text() or 0), now
        job_s = draw.uniform(0.01, 0.05)
        end = time.thread_time() + job_s
        while time.thread_time() < end:
            work(draw)
        # Jobs arrive whether or not earlier ones are done; a backlog of more than 60 s is dropped.
        due = max(due + draw.expovariate(share / job_s), now - 60)
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
