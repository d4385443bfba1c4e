"""Listeners who skip through recordings: each reads the beginning of a recording and goes on to another."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import socket


async def receive_beginning(options: argparse.Namespace, draw: random.Random) -> None:
    """Read the beginning of a recording, and close the connection."""
    address, port = options.to.split(":")
    line = socket.socket()
    # A mobile network has room for little at a time.
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    line.setblocking(False)
    await asyncio.get_running_loop().sock_connect(line, (address, int(port)))
    reader, writer = await asyncio.open_connection(sock=line, limit=16_384)
    try:
        path = f"/episodes/{draw.randrange(10_000)}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: podcasts\r\nConnection: close\r\n\r\n".encode())
        left = draw.randrange(*options.kilobytes) * 1024
        while left > 0 and (part := await reader.read(16_384)):
            left -= len(part)
        await asyncio.sleep(draw.uniform(*options.stay_s))
    finally:
        writer.close()


async def skip_recording(options: argparse.Namespace, draw: random.Random) -> None:
    """Hear the beginning of a recording; give up when nothing comes."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(8):
            await receive_beginning(options, draw)


async def run(options: argparse.Namespace) -> None:
    """Skip recordings at random times."""
    draw, running = random.Random(options.seed), set[asyncio.Task[None]]()
    while True:
        await asyncio.sleep(draw.expovariate(options.rate))
        if len(running) < 1_000:
            task = asyncio.create_task(skip_recording(options, random.Random(draw.random())))
            running.add(task)
            task.add_done_callback(running.discard)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--rate", type=float, required=True, help="recordings a second")
    parser.add_argument(
        "--kilobytes", type=int, nargs=2, default=(32, 200), help="that are read, from and below"
    )
    parser.add_argument(
        "--stay-s", type=float, nargs=2, default=(0.1, 0.6), help="between the last read and the end"
    )
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
