"""Writes reports of words into a directory, over and over; each is on the disk before the next begins."""

from __future__ import annotations

import itertools
import os
import random
import sys
from pathlib import Path

FILES = 6
WORDS = 250_000


def main() -> None:
    Path("/proc/self/comm").write_text("archiver")
    words = [os.urandom(6).hex() for _ in range(3000)]
    text = " ".join(random.choices(words, k=WORDS)).encode()
    for number in itertools.count():
        with Path(sys.argv[1], f"report{number % FILES}").open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


if __name__ == "__main__":
    main()
