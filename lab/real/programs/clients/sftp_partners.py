"""Partners that take a list and send a file by sftp, each time over a connection of its own.

The log has lines of `epoch_s outcome latency_ms`: "ok" where both were done, "closed", or "timeout".
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import TextIO

IN_FLIGHT_LIMIT = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--account", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--exchange", required=True, help="directory on the server")
    parser.add_argument("--rate", type=float, default=4.0)
    parser.add_argument("--timeout-s", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    with Path(options.log).open("w", buffering=1) as log, tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(options, log, Path(directory)))


async def run(options: argparse.Namespace, log: TextIO, directory: Path) -> None:
    """Start transfers at random times, whether or not earlier ones have ended."""
    draw = random.Random(options.seed)
    (directory / "order.xml").write_bytes(draw.randbytes(draw.randrange(4_000, 60_000)))
    running: set[asyncio.Task[None]] = set()
    due = time.monotonic()
    number = 0
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if len(running) < IN_FLIGHT_LIMIT:
            number = (number + 1) % IN_FLIGHT_LIMIT
            task = asyncio.create_task(exchange_files(options, number, log, directory))
            running.add(task)
            task.add_done_callback(running.discard)
        due += draw.expovariate(options.rate)


async def exchange_files(options: argparse.Namespace, number: int, log: TextIO, directory: Path) -> None:
    """Take the list and send an order, and log the outcome."""
    began, start = time.time(), time.monotonic()
    address, port = options.to.split(":")
    order = f"{options.exchange}/order-{number}.xml"
    batch = f"get {options.exchange}/prices.csv /dev/null\nput {directory}/order.xml {order}\n"
    words = (
        "UserKnownHostsFile=/dev/null",
        "StrictHostKeyChecking=no",
        "IdentitiesOnly=yes",
        "LogLevel=ERROR",
    )
    process = await asyncio.create_subprocess_exec(
        "sftp", "-q", "-F", "/dev/null", "-b", "-", "-i", options.key, "-P", port,
        *(word for setting in words for word in ("-o", setting)), f"{options.account}@{address}",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(options.timeout_s):
            await process.communicate(batch.encode())
        outcome = "ok" if process.returncode == 0 else "closed"
    except TimeoutError:
        process.kill()
        outcome = "timeout"
    log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


if __name__ == "__main__":
    main()
