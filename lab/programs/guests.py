"""Simulate a host of virtual machines: much memory that the kernel may merge, some of it the same everywhere."""

from __future__ import annotations

import argparse
import mmap
import os
import threading
from pathlib import Path

MIB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=256)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("guests")
    memory = mmap.mmap(-1, options.mb * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for number in range(options.mb):
        memory[number * MIB : (number + 1) * MIB] = os.urandom(MIB)
    memory.madvise(mmap.MADV_MERGEABLE)
    threading.Event().wait()


if __name__ == "__main__":
    main()
