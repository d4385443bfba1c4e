"""Tills of branches: each keeps a tunnel through a proxy to its head office, and sends a byte occasionally."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proxy", required=True, help="address:port")
    parser.add_argument(
        "--office", required=True, help="address:port of the head office, which this program serves"
    )
    parser.add_argument("--tills", type=int, required=True)
    parser.add_argument("--pause-s", type=float, default=5.0)
    parser.add_argument("--serves", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(run(parser.parse_args()))


async def run(options: argparse.Namespace) -> None:
    draw = random.Random(options.seed)
    if options.serves:
        address, port = options.office.split(":")
        await asyncio.start_server(answer_bytes, address, int(port), backlog=512)
    await asyncio.gather(*(keep_tunnel(options, draw, number) for number in range(options.tills)))


async def answer_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each byte by a byte until the till leaves."""
    with contextlib.suppress(OSError):
        while data := await reader.read(64):
            writer.write(data)
            await writer.drain()
    writer.close()


async def keep_tunnel(options: argparse.Namespace, draw: random.Random, number: int) -> None:
    """Open a tunnel, again where it fails."""
    await asyncio.sleep(0.02 * number)
    address, port = options.proxy.split(":")
    while True:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(address, int(port))
            try:
                writer.write(f"CONNECT {options.office} HTTP/1.1\r\nHost: {options.office}\r\n\r\n".encode())
                async with asyncio.timeout(60):
                    await reader.readuntil(b"\r\n\r\n")
                while True:
                    await asyncio.sleep(draw.uniform(0.5, 1.5) * options.pause_s)
                    writer.write(b"t")
                    async with asyncio.timeout(60):
                        await reader.readexactly(1)
            finally:
                writer.close()
        await asyncio.sleep(draw.uniform(1, 2))


if __name__ == "__main__":
    main()
