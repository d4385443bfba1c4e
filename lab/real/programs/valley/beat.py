"""Start programs of a service, each every so many seconds: python beat.py FILE.

FILE has lines of `seconds command`; it is read again when it changes. A program that still runs is not started again.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path


def read_entries(file: Path) -> dict[str, float]:
    """Return the seconds between two starts, by command."""
    lines = [line.split(" ", 1) for line in file.read_text().splitlines() if line]
    return {command: float(seconds) for seconds, command in lines}


def main() -> None:
    file, started = Path(sys.argv[1]), time.monotonic()
    last: dict[str, float] = {}
    running: dict[str, subprocess.Popen[bytes]] = {}
    while True:
        for command, seconds in read_entries(file).items():
            due = time.monotonic() - last.get(command, started) >= seconds
            if due and (command not in running or running[command].poll() is not None):
                last[command] = time.monotonic()
                running[command] = subprocess.Popen(shlex.split(command))
        time.sleep(0.2)


if __name__ == "__main__":
    main()
