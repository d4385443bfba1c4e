"""The service of a partner company: answers every request after the time that its settings state.

Settings are JSON: {"/prices/": [milliseconds, spread], ...}; the first matching prefix counts, and the file is read
again when it changes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from pathlib import Path


class Partner:
    """The answers, and how long each takes."""

    def __init__(self, path: Path) -> None:
        self.path, self.changed = path, 0.0
        self.times: dict[str, list[float]] = {}

    async def watch(self) -> None:
        """Read the settings again when they change."""
        while True:
            changed = self.path.stat().st_mtime
            if changed != self.changed:
                self.changed, self.times = changed, json.loads(self.path.read_text())
            await asyncio.sleep(0.2)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                middle, spread = next((v for k, v in self.times.items() if path.startswith(k)), (1.0, 0.1))
                await asyncio.sleep(middle / 1000 * random.lognormvariate(0, spread))
                body = json.dumps({"path": path, "price": random.randrange(10_000)}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def run(options: argparse.Namespace) -> None:
    """Serve until the process is ended."""
    partner = Partner(Path(options.settings))
    address, port = options.listen.split(":")
    server = await asyncio.start_server(partner.serve, address, int(port), backlog=1024)
    async with server:
        await partner.watch()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--settings", required=True)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
