"""A ticket service on SQLite: every request counts the tickets, as a board on a wall does.

--cache-kb is what the library may keep of the file in memory: the whole of it, or nothing at all. `--fill` writes the
file, of small pages, and ends.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import sqlite3
import threading
import time
from pathlib import Path

PAGE_BYTES = 512
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\ntickets\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", required=True)
    parser.add_argument("--fill", type=int, default=0, help="tickets to write")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--cache-kb", type=int, default=0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--log", default="")
    options = parser.parse_args()
    if options.fill:
        fill_table(options.file, options.fill)
        return
    Path("/proc/self/comm").write_text("tickets")
    listener = socket.create_server(("0.0.0.0", options.port), backlog=1024)
    threads = [
        threading.Thread(target=serve_requests, args=(listener, options)) for _ in range(options.threads)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fill_table(path: str, tickets: int) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA page_size={PAGE_BYTES}")
        database.execute("CREATE TABLE ticket (amount INTEGER, note TEXT)")
        rows = ((number % 97, "n" * 60) for number in range(tickets))
        database.executemany("INSERT INTO ticket VALUES (?, ?)", rows)
        database.commit()


def serve_requests(listener: socket.socket, options: argparse.Namespace) -> None:
    database = sqlite3.connect(f"file:{options.file}?mode=ro", uri=True)
    database.execute(f"PRAGMA cache_size={-options.cache_kb}")
    while True:
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError):
            if not peer.recv(2048):
                continue
            begin = time.monotonic()
            database.execute("SELECT count(*) FROM ticket").fetchone()
            line = f"{time.time():.3f} GET /tickets 200 {(time.monotonic() - begin) * 1e3:.3f}\n"
            with Path(options.log).open("a") as log:
                log.write(line)
            peer.sendall(REPLY)


if __name__ == "__main__":
    main()
