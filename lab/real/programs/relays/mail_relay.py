"""A mail relay: takes mails by SMTP and forgets them.

mail_relay.py --listen 10.80.0.2:2525 --settings relay.json

Settings are JSON and are read again for each mail: seconds by command, such as {"rcpt": 0.02, "data": 0.05}.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from pathlib import Path

ANSWERS = {"data": "354 go ahead", "quit": "221 bye", "ehlo": "250 relay", "helo": "250 relay"}


async def serve_client(settings: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Talk with one client until it goes."""
    times = json.loads(settings.read_text())
    writer.write(b"220 relay ESMTP\r\n")
    while line := await reader.readline():
        command = line[:4].decode("latin-1").strip().lower()
        await asyncio.sleep(times.get(command, 0.0) * random.uniform(0.7, 1.3))
        writer.write(ANSWERS.get(command, "250 ok").encode() + b"\r\n")
        if command == "data":
            while await reader.readline() not in (b".\r\n", b""):
                pass
            writer.write(b"250 queued\r\n")
        if command == "quit":
            break
    writer.close()


async def run(options: argparse.Namespace) -> None:
    """Listen until the process ends."""
    address, port = options.listen.split(":")

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve_client(options.settings, reader, writer)

    async with await asyncio.start_server(accept, address, int(port), backlog=512) as server:
        await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--settings", required=True, type=Path)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
