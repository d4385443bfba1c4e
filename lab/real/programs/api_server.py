"""An HTTP API on one event loop: short answers after some work and some waiting, and streams of events.

GET /events... is a stream that stays open; everything else is answered once, over kept connections too.
The file --settings (JSON: delay_ms, work_us, answer_bytes, idle_s, stream_s) is read again when it changes.
Connections that neither send nor take anything for idle_s are closed; streams end after about stream_s.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import time
from pathlib import Path

DEFAULTS = {"delay_ms": 2.0, "work_us": 200.0, "answer_bytes": 600, "idle_s": 300.0, "stream_s": 3600.0}


class Api:
    """The settings and the handlers."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.settings = dict(DEFAULTS)
        self.changed_at = 0.0
        self.log = Path(options.access_log).open("a", buffering=1) if options.access_log else None  # noqa: SIM115

    async def watch_settings(self) -> None:
        """Read the settings when their file changes."""
        while True:
            if self.options.settings:
                file = Path(self.options.settings)
                if file.stat().st_mtime != self.changed_at:
                    self.changed_at = file.stat().st_mtime
                    self.settings = DEFAULTS | json.loads(file.read_text())
            await asyncio.sleep(0.3)

    async def handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while head := await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), self.settings["idle_s"]):
                began, words = time.time(), head.split(None, 3)
                path = words[1].decode("ascii", "replace")
                if path.startswith("/events"):
                    await self.stream_events(writer)
                    return
                await self.answer_request(path, writer)
                if self.log:
                    self.log.write(f"{time.time():.3f} GET {path} 200 {(time.time() - began) * 1000:.1f}\n")
                if b"HTTP/1.0" in words[2] or b"onnection: close" in head:
                    return
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass
        finally:
            writer.close()

    async def answer_request(self, path: str, writer: asyncio.StreamWriter) -> None:
        """Answer after some waiting and some work."""
        delay_s = random.gammavariate(4, self.settings["delay_ms"] / 4000) if self.settings["delay_ms"] else 0
        await asyncio.sleep(delay_s)
        end = time.thread_time() + self.settings["work_us"] / 1e6
        digest = path.encode()
        while time.thread_time() < end:
            digest = hashlib.sha256(digest * 16).digest()
        body = (digest.hex() * (int(self.settings["answer_bytes"]) // 64 + 1)).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        await asyncio.wait_for(writer.drain(), self.settings["idle_s"])

    async def stream_events(self, writer: asyncio.StreamWriter) -> None:
        """Send an event every few seconds, for as long as the client listens."""
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n\r\n: hello\n\n"
        )
        end = time.monotonic() + random.uniform(0.5, 1.5) * self.settings["stream_s"]
        while time.monotonic() < end:
            await writer.drain()
            await asyncio.sleep(random.uniform(1, 4))
            writer.write(b"data: {}\n\n")


async def serve_requests(options: argparse.Namespace) -> None:
    """Serve until the process ends."""
    api = Api(options)
    address, port = options.listen.rsplit(":", 1)
    server = await asyncio.start_server(api.handle_connection, address, int(port), backlog=options.backlog)
    async with server:
        await api.watch_settings()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--settings", default="")
    parser.add_argument("--access-log", default="")
    parser.add_argument("--backlog", type=int, default=1024)
    asyncio.run(serve_requests(parser.parse_args()))
