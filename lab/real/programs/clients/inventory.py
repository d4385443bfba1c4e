"""An inventory of a company: reads the greeting of a service, keeps the connection for a while, and repeats."""

from __future__ import annotations

import argparse
import asyncio
import contextlib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--pause-s", type=float, default=1.0, help="how long a connection is kept")
    options = parser.parse_args()
    asyncio.run(run(options))


async def run(options: argparse.Namespace) -> None:
    await asyncio.gather(*(read_greetings(options, number) for number in range(options.connections)))


async def read_greetings(options: argparse.Namespace, number: int) -> None:
    """Read a greeting, keep the connection, and begin again."""
    await asyncio.sleep(0.1 * number)
    address, port = options.to.split(":")
    while True:
        with contextlib.suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection(address, int(port))
            try:
                if await reader.readline():
                    async with asyncio.timeout(options.pause_s):
                        await reader.read()
            finally:
                writer.close()
        await asyncio.sleep(1.0)


if __name__ == "__main__":
    main()
