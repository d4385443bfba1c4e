"""Keeps the sessions of a shop as files, one for each visitor, in a directory of the memory file system."""

from __future__ import annotations

import argparse
import os
import time
import uuid
from pathlib import Path


def create_sessions(directory: Path, count: int, rate: float) -> None:
    """Create session files in folders named after their first two digits; as fast as it goes with rate 0."""
    for number in range(256):
        (directory / f"{number:02x}").mkdir(parents=True, exist_ok=True)
    for _ in range(count):
        name = uuid.uuid4().hex
        os.close(os.open(directory / name[:2] / f"sess_{name}", os.O_CREAT | os.O_WRONLY, 0o600))
        if rate:
            time.sleep(1 / rate)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True)
    parser.add_argument("--first", type=int, default=0, help="sessions at the start")
    options = parser.parse_args()
    directory = Path(options.directory)
    create_sessions(directory, options.first, 0)
    (directory / "ready").touch()
    while True:
        create_sessions(directory, 1000, 20)


if __name__ == "__main__":
    main()
