"""A backup that reads random blocks of a file past the page cache, with many requests under way at once."""

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
    parser.add_argument("--update", action="store_true", help="every block is written back")
    parser.add_argument("--processes", action="store_true", help="a process per request, not a thread")
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("backup")
    for _ in range(options.depth):
        if not options.processes:
            threading.Thread(target=copy_files, args=(options,)).start()
        elif os.fork() == 0:
            copy_files(options)
    threading.Event().wait()


def copy_files(options: argparse.Namespace) -> None:
    size = options.block_kb << 10
    block = mmap.mmap(-1, size)
    fd = os.open(options.file, os.O_DIRECT | (os.O_RDWR if options.update else os.O_RDONLY))
    blocks = os.fstat(fd).st_size // size
    while True:
        at = random.randrange(blocks) * size
        os.preadv(fd, [block], at)
        if options.update:
            os.pwritev(fd, [block], at)


if __name__ == "__main__":
    main()
