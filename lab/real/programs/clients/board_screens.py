"""Screens at bus stops: each keeps a connection to a memcached, and reads a route from time to time."""

from __future__ import annotations

import argparse
import asyncio
import random


async def run_screen(options: argparse.Namespace, draw: random.Random) -> None:
    """Connect, read a route at a time; connect again later where that fails."""
    address, port = options.to.split(":")
    while True:
        await asyncio.sleep(draw.uniform(0, options.pause_s))
        try:
            reader, writer = await asyncio.open_connection(address, int(port))
            while True:
                writer.write(b"get route:%d\r\n" % draw.randrange(options.range))
                words = (await reader.readline()).split()
                if words[:1] == [b"VALUE"]:
                    await reader.readexactly(int(words[3]) + 2)
                    words = (await reader.readline()).split()
                if words != [b"END"]:
                    writer.close()
                    break
                await asyncio.sleep(draw.uniform(0.5, 1.5) * options.pause_s)
        except (OSError, asyncio.IncompleteReadError):
            continue


async def run(options: argparse.Namespace) -> None:
    """Run all screens."""
    draw = random.Random(options.seed)
    await asyncio.gather(*(run_screen(options, random.Random(draw.random())) for _ in range(options.screens)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--screens", type=int, default=50)
    parser.add_argument("--pause-s", type=float, default=5.0)
    parser.add_argument("--range", type=int, default=300, help="routes")
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
