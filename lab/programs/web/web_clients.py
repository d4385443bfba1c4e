"""Clients of a real web server: an open loop of HTTP requests over connections of their own, read to the end.

The log has lines of `epoch_s outcome latency_ms`: "ok" for status 200, "http_503", "timeout", or the name of an error.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import random
import resource
import ssl
import time
from pathlib import Path
from typing import TextIO

IN_FLIGHT_LIMIT = 3000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--rate", type=float, default=50.0, help="requests per second")
    parser.add_argument(
        "--path", action="append", default=[], help="drawn at random; {n} is a number below --range"
    )
    parser.add_argument("--range", type=int, default=10_000)
    parser.add_argument("--timeout-s", type=float, default=3.0)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--source", action="append", default=[], help="local address, drawn at random")
    parser.add_argument("--authority", default="", help="a file; certificates must be signed by it and valid")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(run(options, log))


async def run(options: argparse.Namespace, log: TextIO) -> None:
    """Start requests at random times, whether or not earlier ones have ended."""
    draw = random.Random(options.seed)
    tls = ssl._create_unverified_context() if options.tls else None
    if options.authority:
        tls = ssl.create_default_context(cafile=options.authority)
        tls.check_hostname = False
    running: set[asyncio.Task[None]] = set()
    due = time.monotonic()
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if len(running) < IN_FLIGHT_LIMIT:
            path = draw.choice(options.path or ["/"]).replace("{n}", str(draw.randrange(options.range)))
            task = asyncio.create_task(send_request(options, path, tls, log))
            running.add(task)
            task.add_done_callback(running.discard)
        due += draw.expovariate(options.rate)


async def send_request(
    options: argparse.Namespace, path: str, tls: ssl.SSLContext | None, log: TextIO
) -> None:
    """Send one request and log its outcome."""
    began, start = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(options.timeout_s):
            source = random.choice(options.source or [""])
            outcome = await fetch_outcome(options.to, path, tls, source)
    except TimeoutError:
        outcome = "timeout"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, type(error).__name__)
    log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


async def fetch_outcome(to: str, path: str, tls: ssl.SSLContext | None, source: str = "") -> str:
    """Return the outcome of one request, read until the server closes the connection."""
    address, port = to.split(":")
    local = (source, 0) if source else None
    reader, writer = await asyncio.open_connection(address, int(port), ssl=tls, local_addr=local)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: service\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        status = answer.split(b" ", 2)[1].decode("ascii", "replace") if answer[:5] == b"HTTP/" else ""
        return "ok" if status == "200" else f"http_{status}" if status else "short"
    finally:
        writer.close()


if __name__ == "__main__":
    main()
