"""Runners of builds: an open loop of downloads, each over a connection of its own, read at the pace of a line.

The log has lines of `epoch_s outcome latency_ms`: "ok", "short" for an answer that ends too early, "http_503",
"timeout", or the name of an error.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import random
import socket
import time
from pathlib import Path
from typing import TextIO

CHUNK = 64 << 10


async def fetch_outcome(to: str, path: str, bytes_per_s: float) -> str:
    """Return the outcome of one download."""
    address, port = to.split(":")
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, CHUNK * 2)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (address, int(port)))
    reader, writer = await asyncio.open_connection(sock=sock, limit=CHUNK)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: platform\r\nConnection: close\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if head.split(" ", 2)[1] != "200":
            return f"http_{head.split(' ', 2)[1]}"
        missing = int(head.partition("content-length:")[2].partition("\r\n")[0])
        due = time.monotonic()
        while missing:
            part = await reader.read(CHUNK)
            if not part:
                return "short"
            missing -= len(part)
            due = max(due + len(part) / bytes_per_s, time.monotonic() - 0.05)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        return "ok"
    finally:
        writer.close()


async def download_file(options: argparse.Namespace, path: str, log: TextIO) -> None:
    """Download one file and log the outcome."""
    began, start = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(options.timeout_s):
            outcome = await fetch_outcome(options.to, path, options.kilobytes_per_s * 1024)
    except TimeoutError:
        outcome = "timeout"
    except asyncio.IncompleteReadError:
        outcome = "short"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, type(error).__name__)
    log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


async def run(options: argparse.Namespace, log: TextIO) -> None:
    """Start downloads at random times, whether or not earlier ones have ended."""
    draw = random.Random(options.seed)
    running: set[asyncio.Task[None]] = set()
    due = time.monotonic()
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        path = draw.choice(options.path).replace("{n}", str(draw.randrange(10_000)))
        task = asyncio.create_task(download_file(options, path, log))
        running.add(task)
        task.add_done_callback(running.discard)
        due += draw.expovariate(options.rate)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--rate", type=float, default=4.0, help="downloads per second")
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--kilobytes-per-s", type=float, default=4000.0)
    parser.add_argument("--timeout-s", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(run(options, log))


if __name__ == "__main__":
    main()
