"""Mail server for tests: it accepts or refuses mail as configured. No TLS, loopback only."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Mailbox:
    """A server on loopback; `mails` are (recipients, raw mail), `commands` every command except the mail."""

    port: int = 0
    refuse: int = 0
    mails: list[tuple[list[str], bytes]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


@contextmanager
def mailbox(refuse: int = 0) -> Iterator[Mailbox]:
    """Serve SMTP until the end of the block; `refuse` is the code for every recipient."""
    mailbox = Mailbox(refuse=refuse)

    class Handler(socketserver.StreamRequestHandler):
        def send_line(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

        def handle(self) -> None:
            self.send_line("220 here")
            recipients: list[str] = []
            while line := self.rfile.readline():
                word = line.decode("utf-8", "replace").strip()
                mailbox.commands.append(word)
                verb = word[:4].upper()
                if verb == "RCPT":
                    recipients.append(word.partition("<")[2].partition(">")[0])
                    self.send_line(f"{mailbox.refuse} no" if mailbox.refuse else "250 ok")
                elif verb == "DATA":
                    self.send_line("354 go on")
                    pieces = []
                    while (piece := self.rfile.readline()) not in {b".\r\n", b""}:
                        pieces.append(piece.removeprefix(b".") if piece.startswith(b"..") else piece)
                    mailbox.mails.append((recipients, b"".join(pieces)))
                    recipients = []
                    self.send_line("250 taken")
                elif verb == "QUIT":
                    self.send_line("221 bye")
                    return
                elif verb == "EHLO":
                    self.send_line("250-here")
                    self.send_line("250 AUTH PLAIN")
                elif verb == "AUTH":
                    self.send_line("235 welcome")
                else:
                    self.send_line("250 ok")

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    mailbox.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield mailbox
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
