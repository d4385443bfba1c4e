"""Partners that fetch exports over connections of their own, one after the other, at the pace of their import."""

from __future__ import annotations

import argparse
import asyncio
import random
import socket


async def fetch_export(options: argparse.Namespace, number: int) -> None:
    """Fetch one export; read a block, process it, read the next."""
    address, port = options.to.split(":")
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.buffer)
    peer.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(peer, (address, int(port)))
    try:
        await loop.sock_sendall(
            peer, f"GET {options.path}/{number} HTTP/1.0\r\nHost: reports\r\n\r\n".encode()
        )
        while await loop.sock_recv(peer, options.block):
            if options.pause_ms:
                await asyncio.sleep(options.pause_ms / 1000)
    finally:
        peer.close()


async def fetch_always(options: argparse.Namespace) -> None:
    """Fetch exports without an end, with a short rest after each."""
    while True:
        try:
            await fetch_export(options, random.randrange(10_000))
        except OSError:
            await asyncio.sleep(0.5)
        await asyncio.sleep(random.expovariate(1 / options.rest_s))


async def run(options: argparse.Namespace) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(options.readers):
            group.create_task(fetch_always(options))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--path", default="/exports")
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--rest-s", type=float, default=1.0)
    parser.add_argument("--block", type=int, default=65536)
    parser.add_argument("--buffer", type=int, default=262144, help="bytes of the receive buffer")
    parser.add_argument("--pause-ms", type=float, default=0.0, help="after each block")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
