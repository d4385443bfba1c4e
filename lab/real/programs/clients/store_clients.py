"""Clients of a Redis: reads and writes of carts at a steady rate over several connections, and connections that wait.

With --log, each batch is a request of lines `epoch_s outcome latency_ms`, as that of web_clients.py.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from pathlib import Path
from typing import TextIO


async def read_reply(reader: asyncio.StreamReader) -> None:
    """Read one reply: a status line, or a length and a value."""
    line = await reader.readline()
    if not line or line.startswith(b"-"):
        raise ConnectionError(line.decode())
    if line.startswith(b"$") and int(line[1:]) >= 0:
        await reader.readexactly(int(line[1:]) + 2)


async def run_connection(
    options: argparse.Namespace, log: TextIO | None, rate: float, draw: random.Random
) -> None:
    """Send batches of commands over one connection, each at its time."""
    address, port = options.to.split(":")
    reader, writer = await asyncio.open_connection(address, int(port))
    due = time.monotonic()
    while True:
        due = max(due + draw.expovariate(rate / options.batch), time.monotonic() - 1)
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        commands = []
        for _ in range(options.batch):
            key = f"cart:{draw.randrange(options.keys)}"
            commands.append(
                f"GET {key}\r\n" if draw.random() < 0.7 else f"SET {key} {'v' * options.bytes}\r\n"
            )
        began, start, outcome = time.time(), time.monotonic(), "ok"
        try:
            writer.write("".join(commands).encode())
            for _ in commands:
                await read_reply(reader)
        except (OSError, asyncio.IncompleteReadError):
            outcome = "reset"
            reader, writer = await asyncio.open_connection(address, int(port))
        if log:
            log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


async def run(options: argparse.Namespace) -> None:
    """Open all connections and use some of them."""
    address, port = options.to.split(":")
    log = Path(options.log).open("w", buffering=1) if options.log else None  # noqa: SIM115
    waiting = [await asyncio.open_connection(address, int(port)) for _ in range(options.idle)]
    draw = random.Random(options.seed)
    share = options.rate / options.connections
    await asyncio.gather(
        *(
            run_connection(options, log, share, random.Random(draw.random()))
            for _ in range(options.connections)
        )
    )
    del waiting


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--rate", type=float, default=50.0, help="commands per second")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1, help="commands per request")
    parser.add_argument("--keys", type=int, default=4000)
    parser.add_argument("--bytes", type=int, default=300)
    parser.add_argument("--idle", type=int, default=0, help="connections that wait")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", default="")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
