"""Workers of a feed of prices: each keeps a connection to the cache and looks at a price occasionally."""

from __future__ import annotations

import argparse
import asyncio
import random


async def run_worker(options: argparse.Namespace) -> None:
    """Look at prices; connect again when the connection has ended."""
    address, port = options.to.split(":")
    while True:
        try:
            reader, writer = await asyncio.open_connection(address, int(port))
            while True:
                writer.write(b"get offer-%d\r\n" % random.randrange(options.offers))
                line = await reader.readline()
                while line.startswith(b"VALUE"):
                    await reader.readexactly(int(line.split()[3]) + 2)
                    line = await reader.readline()
                if line != b"END\r\n":
                    break
                await asyncio.sleep(random.expovariate(1 / options.pause_s))
        except OSError:
            pass
        await asyncio.sleep(random.uniform(0.3, 0.9))


async def run(options: argparse.Namespace) -> None:
    """Run all workers."""
    await asyncio.gather(*(run_worker(options) for _ in range(options.workers)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--offers", type=int, required=True)
    parser.add_argument("--pause-s", type=float, default=2.0)
    asyncio.run(run(parser.parse_args()))
