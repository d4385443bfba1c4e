"""Phones that send pictures over a mobile network, each at the pace that its network has, again and again."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random

PART_S = 0.25


async def send_picture(options: argparse.Namespace, draw: random.Random) -> None:
    """Send a picture, and read the answer."""
    address, port = options.to.split(":")
    size, pace = draw.randrange(*options.kilobytes) * 1024, draw.uniform(*options.pace) * 1024
    reader, writer = await asyncio.open_connection(address, int(port))
    try:
        head = f"POST /pictures/{draw.randrange(10_000)} HTTP/1.1\r\nHost: prints\r\nConnection: close\r\n"
        writer.write(f"{head}Content-Type: image/jpeg\r\nContent-Length: {size}\r\n\r\n".encode())
        while size > 0:
            part = min(size, int(pace * PART_S))
            writer.write(draw.randbytes(part))
            await writer.drain()
            size -= part
            await asyncio.sleep(PART_S)
        await reader.read()
    finally:
        writer.close()


async def use_phone(options: argparse.Namespace, draw: random.Random) -> None:
    """Send pictures with pauses."""
    while True:
        await asyncio.sleep(draw.expovariate(1 / options.pause_s))
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(60):
                await send_picture(options, draw)


async def run(options: argparse.Namespace) -> None:
    """Use all phones."""
    draw = random.Random(options.seed)
    await asyncio.gather(*(use_phone(options, random.Random(draw.random())) for _ in range(options.phones)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--phones", type=int, required=True)
    parser.add_argument(
        "--kilobytes", type=int, nargs=2, default=(60, 160), help="of a picture, from and below"
    )
    parser.add_argument(
        "--pace", type=float, nargs=2, default=(12, 24), help="kilobytes a second, from and to"
    )
    parser.add_argument("--pause-s", type=float, default=2.0, help="between pictures of a phone, on average")
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
