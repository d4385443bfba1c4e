"""A directory that is asked and answers by datagrams, and its clients: one datagram each way, no connection.

--listen address:port serves; --to address:port asks, and writes a line of `epoch_s outcome latency_ms` per request
to --log. Requests have between --least and --most bytes, as registrations with few or many attributes do.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import time
from pathlib import Path
from typing import TextIO

ANSWER_BYTES = 120
NUMBER_BYTES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default="", help="serve on this address:port")
    parser.add_argument("--to", default="", help="ask at this address:port")
    parser.add_argument("--rate", type=float, default=100.0, help="requests per second")
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--most", type=int, default=1400)
    parser.add_argument("--timeout-s", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", default="")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("directory" if options.listen else "clients")
    address, port = (options.listen or options.to).split(":")
    if options.listen:
        serve_queries(address, int(port))
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(ask_on(address, int(port), options, log))


def serve_queries(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, port))
        while True:
            request, client = sock.recvfrom(1 << 16)
            sock.sendto(request[:NUMBER_BYTES].ljust(ANSWER_BYTES, b"."), client)


class Answers(asyncio.DatagramProtocol):
    """Who waits for the answer to which request, by its number."""

    def __init__(self) -> None:
        self.waiting: dict[bytes, asyncio.Future[None]] = {}

    def datagram_received(self, data: bytes, address: object) -> None:
        future = self.waiting.get(data[:NUMBER_BYTES])
        if future and not future.done():
            future.set_result(None)


async def ask_on(address: str, port: int, options: argparse.Namespace, log: TextIO) -> None:
    chance, loop = random.Random(options.seed), asyncio.get_running_loop()
    transport, answers = await loop.create_datagram_endpoint(Answers, remote_addr=(address, port))
    running: set[asyncio.Task[None]] = set()
    due, number = time.monotonic(), 0
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        due, number = due + 1 / options.rate, number + 1
        request = number.to_bytes(NUMBER_BYTES, "big").ljust(
            chance.randint(options.least, options.most), b"a"
        )
        task = asyncio.create_task(_ask(transport, answers, request, options.timeout_s, log))
        running.add(task)
        task.add_done_callback(running.discard)


async def _ask(
    transport: asyncio.DatagramTransport, answers: Answers, request: bytes, timeout_s: float, log: TextIO
) -> None:
    began, start, outcome = time.time(), time.monotonic(), "ok"
    number = request[:NUMBER_BYTES]
    future = answers.waiting[number] = asyncio.get_running_loop().create_future()
    transport.sendto(request)
    try:
        await asyncio.wait_for(future, timeout_s)
    except TimeoutError:
        outcome = "timeout"
    finally:
        del answers.waiting[number]
    log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


if __name__ == "__main__":
    main()
