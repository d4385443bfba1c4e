"""A ledger in front of PostgreSQL: every request runs one statement.

python3 ledger.py --port 8080 --database URL --statement by-customer [--threads 8]
"""

from __future__ import annotations

import argparse
import contextlib
import random
import socket
import threading
import time
from pathlib import Path
from typing import TextIO

import psycopg

REPLY = b"HTTP/1.1 %d OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nledger\n"
STATEMENTS = {
    "by-customer": "SELECT sum(amount) FROM payments WHERE customer = %s",
    "by-note": "SELECT count(*) FROM payments WHERE note ~ ('order [0-9]+ of .*' || %s || '$')",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--statement", choices=sorted(STATEMENTS), required=True)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("ledger")
    listener = socket.create_server(("0.0.0.0", options.port), backlog=1024)
    with Path(options.log).open("a", buffering=1) as log:
        threads = [
            threading.Thread(target=serve_requests, args=(listener, options, log))
            for _ in range(options.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def serve_requests(listener: socket.socket, options: argparse.Namespace, log: TextIO) -> None:
    with psycopg.connect(options.database, autocommit=True) as database:
        while True:
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                if not peer.recv(2048):
                    continue
                begin = time.monotonic()
                database.execute(STATEMENTS[options.statement], [random.randrange(1, 5000)]).fetchone()
                log.write(f"{time.time():.3f} GET /ledger 200 {(time.monotonic() - begin) * 1e3:.3f}\n")
                peer.sendall(REPLY % 200)


if __name__ == "__main__":
    main()
