"""Clients that read and send: an open loop of HTTP requests with bodies, each over a connection of its own.

A --request is "METHOD PATH LOW HIGH": the size of its body is drawn between LOW and HIGH bytes; 0 is none.
{n} is a number below --range, in paths as in the --line that bodies consist of; {v} is a value. The log has lines of
`epoch_s outcome latency_ms`: "ok" for a status from 200 to 299, "http_503", "timeout", or the name of an error.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import random
import time
from pathlib import Path
from typing import TextIO

IN_FLIGHT_LIMIT = 2000


def build_request(draw: random.Random, options: argparse.Namespace) -> bytes:
    """Return a request that is drawn at random."""
    method, path, low, high = draw.choice(options.request).split()
    size, body = draw.randrange(int(low), int(high) + 1), ""
    if size:
        line = options.line.replace("{n}", str(draw.randrange(options.range)))
        line = line.replace("{v}", f"{draw.uniform(5, 40):.2f}") + "\n"
        body = line * max(1, size // len(line))
    path = path.replace("{n}", str(draw.randrange(options.range)))
    head = f"{method} {path} HTTP/1.1\r\nHost: service\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return f"{head}{body}".encode()


async def fetch_outcome(to: str, request: bytes) -> str:
    """Return the outcome of one request, read until the server closes the connection."""
    address, port = to.split(":")
    reader, writer = await asyncio.open_connection(address, int(port))
    try:
        writer.write(request)
        answer = await reader.read()
        while more := await reader.read():
            answer += more
        status = answer.split(b" ", 2)[1].decode("ascii", "replace") if answer[:5] == b"HTTP/" else ""
        return "ok" if status[:1] == "2" else f"http_{status}" if status else "short"
    finally:
        writer.close()


async def send_request(options: argparse.Namespace, request: bytes, log: TextIO) -> None:
    """Send one request and log its outcome."""
    began, start = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(options.timeout_s):
            outcome = await fetch_outcome(options.to, request)
    except TimeoutError:
        outcome = "timeout"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, type(error).__name__)
    log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


async def run(options: argparse.Namespace, log: TextIO) -> None:
    """Start requests at random times, whether or not earlier ones have ended."""
    draw = random.Random(options.seed)
    running: set[asyncio.Task[None]] = set()
    due = time.monotonic()
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if len(running) < IN_FLIGHT_LIMIT:
            task = asyncio.create_task(send_request(options, build_request(draw, options), log))
            running.add(task)
            task.add_done_callback(running.discard)
        due += draw.expovariate(options.rate)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--rate", type=float, default=30.0, help="requests per second")
    parser.add_argument("--request", action="append", default=[])
    parser.add_argument("--line", default="line {n}")
    parser.add_argument("--range", type=int, default=1000)
    parser.add_argument("--timeout-s", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(run(options, log))


if __name__ == "__main__":
    main()
