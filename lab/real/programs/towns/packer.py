"""A packer of a warehouse: takes jobs from a beanstalkd, works on each for a moment, and deletes them."""

from __future__ import annotations

import hashlib
import socket
import sys
import time


def run(port: int) -> None:
    """Work until the connection ends."""
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rwb") as stream:
        while True:
            stream.write(b"reserve\r\n")
            stream.flush()
            words = stream.readline().split()
            if not words:
                return
            body = stream.read(int(words[2]) + 2)
            hashlib.pbkdf2_hmac("sha256", body, b"label", 800)
            stream.write(b"delete %s\r\n" % words[1])
            stream.flush()
            stream.readline()


def main() -> None:
    while True:
        try:
            run(int(sys.argv[1]))
        except OSError:
            time.sleep(1.0)


if __name__ == "__main__":
    main()
