"""Takes letters from a list of Redis and hands them to the post: letters.py PORT LIST SECONDS."""

from __future__ import annotations

import hashlib
import socket
import sys
import time


def main() -> None:
    """Take letters until the process is killed."""
    port, name, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    with socket.create_connection(("127.0.0.1", port)) as store, store.makefile("rb") as answers:
        while True:
            store.sendall(f"BLPOP {name} 5\r\n".encode())
            if answers.readline() == b"*-1\r\n":
                continue
            for _ in range(2):
                size = int(answers.readline()[1:])
                text = answers.read(size + 2)
            hashlib.sha256(text).hexdigest()
            time.sleep(seconds)


if __name__ == "__main__":
    main()
