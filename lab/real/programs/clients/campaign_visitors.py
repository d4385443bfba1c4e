"""Visitors of a site who come in groups, as after a mail, besides a steady stream; each has a connection of their own.

The log has lines of `epoch_s outcome latency_ms`, as that of web_clients.py.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).parents[3] / "programs" / "web"))
from web_clients import send_request


async def visit_page(options: argparse.Namespace, draw: random.Random, delay_s: float, log: TextIO) -> None:
    """Send one request after `delay_s`."""
    path = draw.choice(options.path).replace("{n}", str(draw.randrange(10_000)))
    await asyncio.sleep(delay_s)
    await send_request(options, path, None, log)


async def send_groups(options: argparse.Namespace, draw: random.Random, log: TextIO) -> None:
    """Let a group arrive within a few milliseconds, wait, and let the next one arrive."""
    async with asyncio.TaskGroup() as tasks:
        while True:
            for _ in range(draw.randrange(options.group * 3 // 4, options.group * 5 // 4)):
                tasks.create_task(visit_page(options, draw, draw.uniform(0, 0.02), log))
            await asyncio.sleep(options.pause_s * draw.uniform(0.8, 1.2))


async def send_singles(options: argparse.Namespace, draw: random.Random, log: TextIO) -> None:
    """Let visitors arrive at random times."""
    async with asyncio.TaskGroup() as tasks:
        while True:
            tasks.create_task(visit_page(options, draw, 0.0, log))
            await asyncio.sleep(draw.expovariate(options.rate))


async def run(options: argparse.Namespace, log: TextIO) -> None:
    """Run both kinds of visitors."""
    draw = random.Random(options.seed)
    await asyncio.gather(send_groups(options, draw, log), send_singles(options, draw, log))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--path", action="append", required=True, help="{n} is a number")
    parser.add_argument("--group", type=int, default=40, help="visitors of one group")
    parser.add_argument("--pause-s", type=float, default=2.0, help="between two groups")
    parser.add_argument("--rate", type=float, default=10.0, help="visitors per second between groups")
    parser.add_argument("--timeout-s", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(run(options, log))


if __name__ == "__main__":
    main()
