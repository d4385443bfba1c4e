"""A store of scans at another site: takes what is sent to it, and answers how much that was."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re


async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection, one after the other."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            size = len(await reader.readexactly(int(length[1]))) if length else 0
            await asyncio.sleep(0.002)
            body = b'{"kept": %d}\n' % size
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
    writer.close()


async def run(address: str, port: int) -> None:
    """Serve until the end."""
    server = await asyncio.start_server(serve_connection, address, port)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    address, port = parser.parse_args().listen.split(":")
    asyncio.run(run(address, int(port)))


if __name__ == "__main__":
    main()
