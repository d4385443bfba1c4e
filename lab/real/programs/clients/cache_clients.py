"""Clients of a cache: reads and writes of one kind of key at a steady rate, with connections that wait."""

from __future__ import annotations

import argparse
import asyncio
import random


async def read_answer(reader: asyncio.StreamReader) -> None:
    """Read one answer: a status line, or a length and a value."""
    line = await reader.readline()
    if line.startswith(b"$") and int(line[1:]) >= 0:
        await reader.readexactly(int(line[1:]) + 2)


async def run(options: argparse.Namespace) -> None:
    """Open the connections, then read and write values over the first one."""
    address, port = options.to.split(":")
    connections = [await asyncio.open_connection(address, int(port)) for _ in range(options.idle + 1)]
    reader, writer = connections[0]
    while True:
        key = f"{options.key}:{random.randrange(4000)}"
        command = f"GET {key}\r\n" if random.random() < 0.7 else f"SET {key} {'v' * 300}\r\n"
        writer.write(command.encode())
        await read_answer(reader)
        await asyncio.sleep(random.expovariate(options.rate))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--key", default="session")
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--idle", type=int, default=0, help="connections that wait")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
