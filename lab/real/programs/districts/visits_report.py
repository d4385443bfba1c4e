"""A report of where visitors come from: looks the name of each address of a log up, so many at a time.

visits_report.py --log FILE --server 127.0.0.1 --at-a-time 10 --report FILE
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path

PTR, TIMEOUT_S, ATTEMPTS = 12, 5.0, 2


def build_question(number: int, address: str) -> bytes:
    """Return a query for the name of an address."""
    labels = [*reversed(address.split(".")), "in-addr", "arpa"]
    name = b"".join(bytes([len(label)]) + label.encode() for label in labels)
    return struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + name + b"\0" + struct.pack("!HH", PTR, 1)


class AddressResolver(asyncio.DatagramProtocol):
    """Sends questions and hands answers to those who wait for them."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[int]] = {}
        self.transport: asyncio.DatagramTransport

    def datagram_received(self, data: bytes, _: object) -> None:
        answer = self.waiting.get(struct.unpack_from("!H", data)[0])
        if answer and not answer.done():
            answer.set_result(data[3] & 15)

    async def resolve_address(self, address: str) -> str:
        """Return what became of the question: the code of the answer, or "none"."""
        for _ in range(ATTEMPTS):
            number = random.randrange(1 << 16)
            self.waiting[number] = asyncio.get_running_loop().create_future()
            self.transport.sendto(build_question(number, address))
            began = time.monotonic()
            try:
                code = await asyncio.wait_for(self.waiting[number], TIMEOUT_S)
            except TimeoutError:
                continue
            finally:
                self.waiting.pop(number, None)
            if code in (0, 3):
                return str(code)
            await asyncio.sleep(max(0.0, TIMEOUT_S / 2 - (time.monotonic() - began)))
        return "none"


def list_addresses(log: Path) -> Iterator[str]:
    """Yield the address of each line, from the beginning again after the last."""
    while True:
        with log.open() as lines:
            for line in lines:
                yield line.split(" ", 1)[0]


async def write_report(options: argparse.Namespace) -> None:
    """Look addresses up for as long as the process runs."""
    transport, resolver = await asyncio.get_running_loop().create_datagram_endpoint(
        AddressResolver, remote_addr=(options.server, 53)
    )
    resolver.transport = transport
    addresses, counts = list_addresses(options.log), collections.Counter[str]()

    async def work() -> None:
        await asyncio.sleep(random.uniform(0, TIMEOUT_S))
        for address in addresses:
            counts[await resolver.resolve_address(address)] += 1
            await asyncio.sleep(random.uniform(0.01, 0.05))

    async def save() -> None:
        while True:
            options.report.write_text("".join(f"{name} {count}\n" for name, count in sorted(counts.items())))
            await asyncio.sleep(2)

    await asyncio.gather(save(), *(work() for _ in range(options.at_a_time)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--server", default="127.0.0.1")
    parser.add_argument("--at-a-time", type=int, default=10)
    parser.add_argument("--report", type=Path, required=True)
    asyncio.run(write_report(parser.parse_args()))


if __name__ == "__main__":
    main()
