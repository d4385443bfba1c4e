"""The archive of letters on another machine: takes the body of a request, answers with a line after a while."""

from __future__ import annotations

import argparse
import asyncio
import random


async def handle_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_ms: float
) -> None:
    """Answer one request."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = head.partition("content-length:")[2].partition("\r\n")[0]
        body = await reader.readexactly(int(length or 0))
        await asyncio.sleep(random.gammavariate(4, delay_ms / 4000))
        text = b"%d\n" % len(body)
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
        )
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def serve_archive(options: argparse.Namespace) -> None:
    """Serve until the process ends."""
    address, port = options.listen.split(":")
    server = await asyncio.start_server(
        lambda reader, writer: handle_connection(reader, writer, options.delay_ms),
        address,
        int(port),
        backlog=512,
    )
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--delay-ms", type=float, default=8.0)
    asyncio.run(serve_archive(parser.parse_args()))
