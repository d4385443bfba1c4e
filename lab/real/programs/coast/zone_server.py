"""A name server of a small zone that may keep silent about some types of records.

Settings (JSON, read again on SIGHUP): silent (numbers of the types that get no answer). Every name has one address.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import struct
from pathlib import Path

A = 1
TTL_S = 30
AUTHORITY_TTL_S = 5


class ZoneServer(asyncio.DatagramProtocol):
    """Answers queries for one address."""

    transport: asyncio.DatagramTransport

    def __init__(self, address: str, settings: Path) -> None:
        self.address, self.file = address, settings
        self.load_settings()

    def load_settings(self) -> None:
        """Read the settings; without a file every query is answered."""
        values = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.silent: set[int] = set(values.get("silent", []))

    def datagram_received(self, data: bytes, peer: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        (kind,) = struct.unpack_from("!H", data, end - 4)
        if kind not in self.silent:
            self.transport.sendto(build_answer(data[:end], kind, self.address), peer)


def build_answer(question: bytes, kind: int, address: str) -> bytes:
    """Return the answer to a query of one question; without a record, for how long that holds."""
    counts = (1, 1, 0, 0) if kind == A else (1, 0, 1, 0)
    if kind == A:
        record = struct.pack("!HHHIH", 0xC00C, A, 1, TTL_S, 4) + socket.inet_aton(address)
    else:
        numbers = struct.pack("!IIIII", 1, 3600, 600, 86_400, AUTHORITY_TTL_S)
        record = (
            struct.pack("!HHHIH", 0xC00C, 6, 1, AUTHORITY_TTL_S, 4 + len(numbers))
            + b"\xc0\x0c\xc0\x0c"
            + numbers
        )
    return question[:2] + struct.pack("!HHHHH", 0x8580, *counts) + question[12:] + record


async def serve_zone(options: argparse.Namespace) -> None:
    """Serve until the process is killed."""
    loop = asyncio.get_running_loop()
    server = ZoneServer(options.address, Path(options.settings))
    loop.add_signal_handler(signal.SIGHUP, server.load_settings)
    host, port = options.listen.split(":")
    server.transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=(host, int(port)))
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--address", required=True, help="what names resolve to")
    parser.add_argument("--settings", required=True)
    asyncio.run(serve_zone(parser.parse_args()))
