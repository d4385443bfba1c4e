"""A mail server for tests: it takes what it is sent, or refuses as it is told. No TLS: loopback only."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Mailbox:
    """A server on loopback; `mails` are (recipients, raw mail), `said` every command but the mail."""

    port: int = 0
    refuse: int = 0
    mails: list[tuple[list[str], bytes]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@contextmanager
def mailbox(refuse: int = 0) -> Iterator[Mailbox]:
    """Serves SMTP until the block is left; with `refuse` no recipient is taken, with that code."""
    made = Mailbox(refuse=refuse)

    class Handler(socketserver.StreamRequestHandler):
        def tell(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

        def handle(self) -> None:
            self.tell("220 here")
            recipients: list[str] = []
            while line := self.rfile.readline():
                word = line.decode("utf-8", "replace").strip()
                made.said.append(word)
                verb = word[:4].upper()
                if verb == "RCPT":
                    recipients.append(word.partition("<")[2].partition(">")[0])
                    self.tell(f"{made.refuse} no" if made.refuse else "250 ok")
                elif verb == "DATA":
                    self.tell("354 go on")
                    pieces = []
                    while (piece := self.rfile.readline()) not in {b".\r\n", b""}:
                        pieces.append(piece.removeprefix(b".") if piece.startswith(b"..") else piece)
                    made.mails.append((recipients, b"".join(pieces)))
                    recipients = []
                    self.tell("250 taken")
                elif verb == "QUIT":
                    self.tell("221 bye")
                    return
                elif verb == "EHLO":
                    self.tell("250-here")
                    self.tell("250 AUTH PLAIN")
                elif verb == "AUTH":
                    self.tell("235 welcome")
                else:
                    self.tell("250 ok")

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
