"""The name server of an office: it knows some names, and passes the domains of a head office on, which takes time.

--name NAME (again): a name that has the address --address; all others do not exist. --far DOMAIN=MS (again): how long
answers for names of a domain take.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import struct

A, NAME_ERROR = 1, 3
TTL_S = 20


class OfficeNames(asyncio.DatagramProtocol):
    """Answers queries of one question."""

    transport: asyncio.DatagramTransport

    def __init__(self, names: list[str], address: str, far: dict[str, float]) -> None:
        self.names, self.address, self.far = set(names), address, far

    def datagram_received(self, data: bytes, peer: tuple[str, int]) -> None:
        """Answer at once, or after the time that the domain takes."""
        name, end = read_name(data)
        (kind,) = struct.unpack_from("!H", data, end)
        answer = self.build_answer(data[: end + 4], name, kind)
        wait_ms = max((ms for domain, ms in self.far.items() if name.endswith(f".{domain}")), default=0.0)
        if wait_ms:
            loop = asyncio.get_running_loop()
            loop.call_later(wait_ms * random.uniform(0.9, 1.2) / 1000, self.transport.sendto, answer, peer)
        else:
            self.transport.sendto(answer, peer)

    def build_answer(self, question: bytes, name: str, kind: int) -> bytes:
        """Return an address, no record of this type, or that the name does not exist."""
        known = name in self.names
        count = int(known and kind == A)
        head = question[:2] + struct.pack("!HHHHH", 0x8580 | (0 if known else NAME_ERROR), 1, count, 0, 0)
        record = (
            struct.pack("!HHHIH", 0xC00C, A, 1, TTL_S, 4) + socket.inet_aton(self.address) if count else b""
        )
        return head + question[12:] + record


def read_name(data: bytes) -> tuple[str, int]:
    """Return the name of the question in lower case, and where it ends."""
    labels, at = [], 12
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode("ascii", "replace").lower())
        at += 1 + size
    return ".".join(labels), at + 1


async def serve_names(options: argparse.Namespace) -> None:
    """Serve until the process is killed."""
    far = {domain: float(ms) for domain, ms in (word.split("=") for word in options.far)}
    server = OfficeNames(options.name, options.address, far)
    host, port = options.listen.split(":")
    loop = asyncio.get_running_loop()
    server.transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=(host, int(port)))
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--address", required=True)
    parser.add_argument("--name", action="append", default=[])
    parser.add_argument("--far", action="append", default=[])
    asyncio.run(serve_names(parser.parse_args()))
