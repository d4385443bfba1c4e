"""A backup that reads or writes a file past the page cache, with many requests under way at once; or reads it
plainly, through the page cache, from end to end and again."""

from __future__ import annotations

import argparse
import mmap
import os
import random
import threading
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--depth", type=int, default=16, help="requests under way")
    parser.add_argument("--block-kb", type=int, default=128)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--processes", action="store_true", help="a process per request, not a thread")
    parser.add_argument("--cached", action="store_true", help="through the page cache, one reader")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("backup")
    if options.cached:
        read_plainly(options.file, options.block_kb << 10)
    for _ in range(options.depth):
        if not options.processes:
            threading.Thread(target=copy, args=(options,)).start()
        elif os.fork() == 0:
            copy(options)
    threading.Event().wait()


def copy(options: argparse.Namespace) -> None:
    size = options.block_kb << 10
    block = mmap.mmap(-1, size)
    fd = os.open(options.file, os.O_DIRECT | (os.O_WRONLY if options.write else os.O_RDONLY))
    blocks = os.fstat(fd).st_size // size
    while True:
        at = random.randrange(blocks) * size
        if options.write:
            os.pwritev(fd, [block], at)
        else:
            os.preadv(fd, [block], at)


def read_plainly(path: str, size: int) -> None:
    while True:
        with Path(path).open("rb", buffering=0) as file:
            while file.read(size):
                pass


if __name__ == "__main__":
    main()
