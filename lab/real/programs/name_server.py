"""A name server of a small zone. Its settings are read again on SIGHUP.

Settings (JSON): share (of the queries that they apply to), late_ms ([least, most]), code (of the answer; -1 for none).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import socket
import struct
from pathlib import Path

A = 1


class NameServer(asyncio.DatagramProtocol):
    """Answers every name of the zone with one address."""

    def __init__(self, address: str, settings: Path) -> None:
        self.address, self.file = address, settings
        self.load_settings()

    def load_settings(self) -> None:
        """Read the settings; without a file every query is answered at once."""
        values = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.share: float = values.get("share", 0.0)
        self.late_ms: list[float] = values.get("late_ms", [0, 0])
        self.code: int = values.get("code", 0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, peer: tuple[str, int]) -> None:
        code, late_s = 0, random.uniform(0.0003, 0.0015)
        if random.random() < self.share:
            code, late_s = self.code, random.uniform(*self.late_ms) / 1000
        if code >= 0:
            answer = build_answer(data, self.address, code)
            asyncio.get_running_loop().call_later(late_s, self.transport.sendto, answer, peer)


def build_answer(query: bytes, address: str, code: int) -> bytes:
    """Return the answer to a query of one question."""
    end = query.index(b"\0", 12) + 5
    (kind,) = struct.unpack_from("!H", query, end - 4)
    record = b""
    if kind == A and code == 0:
        record = struct.pack("!HHHIH", 0xC00C, A, 1, 0, 4) + socket.inet_aton(address)
    return (
        query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, 1 if record else 0, 0, 0) + query[12:end] + record
    )


async def run(options: argparse.Namespace) -> None:
    """Serve until the process is killed."""
    loop = asyncio.get_running_loop()
    server = NameServer(options.address, Path(options.settings))
    loop.add_signal_handler(signal.SIGHUP, server.load_settings)
    host, port = options.listen.split(":")
    await loop.create_datagram_endpoint(lambda: server, local_addr=(host, int(port)))
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--address", required=True, help="what names resolve to")
    parser.add_argument("--settings", required=True)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
