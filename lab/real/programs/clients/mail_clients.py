"""Clients of an IMAP server: they log in, read the headers of a mailbox and log out; others stay and wait for mail.

The log has lines of `epoch_s outcome latency_ms`, as that of web_clients.py; a latency is that of a whole session.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import random
import time
from pathlib import Path
from typing import TextIO


class MailSession:
    """One connection, logged in as one person."""

    def __init__(self, to: str, person: int) -> None:
        address, port = to.split(":")
        self.address, self.port, self.name, self.number = address, int(port), f"person{person}", 0

    async def open(self) -> str:
        """Connect and log in. Return "" or the server's refusal."""
        self.reader, self.writer = await asyncio.open_connection(self.address, self.port)
        await self.reader.readline()
        return await self.run_command(f"LOGIN {self.name} {self.name[::-1]}")

    async def run_command(self, words: str) -> str:
        """Send one command and read until its end. Return "" or the server's refusal."""
        self.number += 1
        tag = f"a{self.number}".encode()
        self.writer.write(tag + f" {words}\r\n".encode())
        while line := await self.reader.readline():
            if line.startswith(tag + b" "):
                return "" if line.split()[1] == b"OK" else line.split()[1].decode("ascii", "replace")
        return "closed"

    def close(self) -> None:
        """Close the connection."""
        if hasattr(self, "writer"):
            self.writer.close()


async def read_mailbox(options: argparse.Namespace, person: int, log: TextIO) -> None:
    """Log in, read the headers of the mailbox, and log the outcome."""
    began, start, session = time.time(), time.monotonic(), MailSession(options.to, person)
    try:
        async with asyncio.timeout(options.timeout_s):
            outcome = await session.open()
            for words in (
                "SELECT INBOX",
                "FETCH 1:* (FLAGS BODY.PEEK[HEADER.FIELDS (SUBJECT FROM)])",
                "LOGOUT",
            ):
                outcome = outcome or await session.run_command(words)
    except TimeoutError:
        outcome = "timeout"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, type(error).__name__)
    finally:
        session.close()
    log.write(f"{began:.3f} {outcome or 'ok'} {(time.monotonic() - start) * 1000:.2f}\n")


async def wait_for_mail(options: argparse.Namespace, person: int) -> None:
    """Log in once and wait, as the mail program of a telephone does."""
    session = MailSession(options.to, person)
    await session.open()
    await session.run_command("SELECT INBOX")
    session.writer.write(b"a9 IDLE\r\n")
    while await session.reader.readline():
        pass


async def run(options: argparse.Namespace, log: TextIO) -> None:
    """Start sessions at random times, whether or not earlier ones have ended."""
    draw = random.Random(options.seed)
    running = {
        asyncio.create_task(wait_for_mail(options, n % options.people)) for n in range(options.waiting)
    }
    due = time.monotonic()
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        task = asyncio.create_task(read_mailbox(options, draw.randrange(options.people), log))
        running.add(task)
        task.add_done_callback(running.discard)
        due += draw.expovariate(options.rate)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--rate", type=float, default=10.0, help="sessions per second")
    parser.add_argument("--waiting", type=int, default=0, help="sessions that wait for mail")
    parser.add_argument("--timeout-s", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(run(options, log))


if __name__ == "__main__":
    main()
