"""Keeps the sessions of visitors as one small file each, below two levels of directories."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True)
    parser.add_argument("--rate", required=True, help="a file with the number of new sessions per second")
    options = parser.parse_args()
    number, failed = 0, 0
    while True:
        rate = float(Path(options.rate).read_text() or 1)
        began = time.monotonic()
        for _ in range(max(1, int(rate / 4))):
            name = hashlib.md5(f"visitor {number}".encode()).hexdigest()
            number += 1
            try:
                directory = Path(options.directory) / name[0]
                directory.mkdir(parents=True, exist_ok=True)
                (directory / f"sess_{name}").write_text(f"visitor|i:{number};basket|a:0:{{}}")
            except OSError as error:
                failed += 1
                if failed % 200 == 1:
                    print(f"session of visitor {number} not kept: {error}", file=sys.stderr, flush=True)
                break
        time.sleep(max(0.05, 0.25 - (time.monotonic() - began)))


if __name__ == "__main__":
    main()
