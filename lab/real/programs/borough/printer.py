"""A printer of a bottler: takes jobs from a beanstalkd, prints them, and deletes them.

A label needs its code, which another service knows. A sheet is laid out by a press house, which takes its time.
"""

from __future__ import annotations

import argparse
import socket
import time
import urllib.request
from pathlib import Path
from typing import BinaryIO


def fetch_part(address: str, path: str) -> bytes:
    """Return what another service answers."""
    with urllib.request.urlopen(f"http://{address}{path}", timeout=15) as answer:
        content: bytes = answer.read()
        return content


def print_job(options: argparse.Namespace, body: str) -> None:
    """Print a job, and put a label where its seller gets it."""
    kind, number, ticket = body.split()
    part = fetch_part(options.codes if kind == "label" else options.press, f"/{kind}s/{number}")
    if kind == "label":
        file = Path(options.spool) / ticket
        file.with_suffix(".new").write_bytes(part)
        file.with_suffix(".new").rename(file)


def run_jobs(options: argparse.Namespace, stream: BinaryIO) -> None:
    """Work until the connection ends."""
    while True:
        stream.write(b"reserve\r\n")
        stream.flush()
        words = stream.readline().split()
        if not words:
            return
        if words[0] != b"RESERVED":
            continue
        body = stream.read(int(words[2]) + 2).decode()
        print_job(options, body)
        stream.write(b"delete %s\r\n" % words[1])
        stream.flush()
        stream.readline()


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--queue", "--codes", "--press", "--spool"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    address, port = options.queue.split(":")
    while True:
        try:
            with (
                socket.create_connection((address, int(port))) as connection,
                connection.makefile("rwb") as stream,
            ):
                run_jobs(options, stream)
        except OSError:
            time.sleep(1.0)


if __name__ == "__main__":
    main()
