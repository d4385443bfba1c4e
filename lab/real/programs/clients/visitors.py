"""Clients that keep their connections, as browsers and apps do: visitors who send requests, or listen to a stream.

The log has lines of `epoch_s outcome latency_ms`, as that of web_clients.py.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import random
import resource
import ssl
import time
from pathlib import Path
from typing import TextIO

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Visitor:
    """One client with one connection, which is opened again when the server has closed it."""

    def __init__(self, options: argparse.Namespace, log: TextIO, draw: random.Random) -> None:
        self.options, self.log, self.draw = options, log, draw
        self.address, port = options.to.split(":")
        self.port = int(port)
        self.connection: Connection | None = None
        self.tls = ssl._create_unverified_context() if options.tls else None

    async def visit(self) -> None:
        """Send requests for as long as the process lives."""
        pause_s = self.options.visitors / self.options.rate
        await asyncio.sleep(self.draw.uniform(0, self.options.arrive_s))
        while True:
            await self.wait(self.draw.expovariate(1 / pause_s))
            path = self.draw.choice(self.options.path or ["/"])
            await self.request(path.replace("{n}", str(self.draw.randrange(self.options.range))))

    async def wait(self, pause_s: float) -> None:
        """Wait until the next request; with --close, close the connection as soon as the server has closed it."""
        start = time.monotonic()
        if self.options.close and self.connection:
            with contextlib.suppress(TimeoutError, ConnectionError):
                await asyncio.wait_for(self.connection[0].read(1), pause_s)
                self.disconnect()
        await asyncio.sleep(max(0.0, start + pause_s - time.monotonic()))

    async def request(self, path: str) -> None:
        """Send one request and log its outcome."""
        began, start = time.time(), time.monotonic()
        try:
            async with asyncio.timeout(self.options.timeout_s):
                outcome = await self.exchange(path)
        except TimeoutError:
            outcome = "timeout"
            self.disconnect()
        except asyncio.IncompleteReadError:
            outcome = "short"
            self.disconnect()
        except OSError as error:
            outcome = errno.errorcode.get(error.errno or 0, type(error).__name__)
            self.disconnect()
        self.log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")
        if self.options.new_connections:
            self.disconnect()

    async def exchange(self, path: str) -> str:
        """Return the outcome; a kept connection that the server has closed is replaced once, as browsers do."""
        kept = self.connection is not None
        try:
            return await self.ask(path)
        except (asyncio.IncompleteReadError, ConnectionError):
            if not kept:
                raise
            self.disconnect()
            return await self.ask(path)

    async def ask(self, path: str) -> str:
        if self.connection is None:
            self.connection = await asyncio.open_connection(self.address, self.port, ssl=self.tls)
        reader, writer = self.connection
        writer.write(f"GET {path} HTTP/1.1\r\nHost: service\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if self.options.stream:
            while await reader.read(4096):
                pass
            return "ok"
        length = head.partition("content-length:")[2].partition("\r\n")[0]
        if length:
            await reader.readexactly(int(length))
        elif "chunked" in head:
            while size := int((await reader.readuntil(b"\r\n")).strip() or b"0", 16):
                await reader.readexactly(size + 2)
            await reader.readuntil(b"\r\n")
        if "connection: close" in head:
            self.disconnect()
        status = head.split(" ", 2)[1]
        return "ok" if status == "200" else f"http_{status}"

    def disconnect(self) -> None:
        """Close the connection, if there is one."""
        if self.connection:
            self.connection[1].close()
        self.connection = None


async def run(options: argparse.Namespace, log: TextIO) -> None:
    """Run all visitors."""
    draw = random.Random(options.seed)
    visitors = [Visitor(options, log, random.Random(draw.random())) for _ in range(options.visitors)]
    await asyncio.gather(*(visitor.visit() for visitor in visitors))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument(
        "--rate", type=float, default=50.0, help="requests per second of all visitors together"
    )
    parser.add_argument(
        "--path", action="append", default=[], help="drawn at random; {n} is a number below --range"
    )
    parser.add_argument("--range", type=int, default=10_000)
    parser.add_argument("--arrive-s", type=float, default=0.0, help="visitors arrive within this time")
    parser.add_argument("--timeout-s", type=float, default=3.0)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--new-connections", action="store_true", help="a connection for each request")
    parser.add_argument(
        "--close", action="store_true", help="close at once what the server has closed, as browsers do"
    )
    parser.add_argument("--stream", action="store_true", help="the answer is a stream, read until it ends")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(run(options, log))


if __name__ == "__main__":
    main()
