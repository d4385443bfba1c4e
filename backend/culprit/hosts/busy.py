"""Work for a processor, so that a first flame graph has something to show: `-m culprit.hosts.busy SECONDS`.

Four kinds of work (compress, digest, sort, parse) in as many processes as there are processors, at most four.
They end after SECONDS, when standard input is closed (the platform has ended), or on SIGTERM, whichever comes
first. Standard library only.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import select
import signal
import sys
import time
import zlib
from collections.abc import Callable

MAX_SECONDS = 30
PR_SET_PDEATHSIG = 1


def compress(data: bytes) -> None:
    """zlib over text."""
    zlib.compress(data * 4, 6)


def digest(data: bytes) -> None:
    """SHA-256 over a few hundred kilobytes."""
    hashlib.sha256(data * 16).digest()


def sort(data: bytes) -> None:
    """Words by their reversed spelling."""
    sorted(data.split(), key=lambda word: word[::-1])


def parse(data: bytes) -> None:
    """JSON to and fro."""
    json.loads(json.dumps([{"line": line.decode(), "length": len(line)} for line in data.splitlines()]))


WORK: tuple[Callable[[bytes], None], ...] = (compress, digest, sort, parse)


def text(size: int = 40_000) -> bytes:
    """Words in lines, the same every time."""
    chosen = random.Random(7)  # noqa: S311
    words = ["".join(chosen.choices("etaoinshrdlu", k=chosen.randint(2, 9))) for _ in range(size // 6)]
    return "\n".join(" ".join(words[n : n + 9]) for n in range(0, len(words), 9)).encode()


def work_until(moment: float, kind: Callable[[bytes], None]) -> None:
    """One process's share."""
    data = text()
    while time.monotonic() < moment:
        kind(data)


def main(seconds: float) -> None:
    """Start the processes, and end them all."""
    end = time.monotonic() + min(seconds, MAX_SECONDS)
    os.nice(10)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    children = []
    for number in range(min(4, len(os.sched_getaffinity(0)))):
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            work_until(end, WORK[number % len(WORK)])
            os._exit(0)
        children.append(child)
    try:
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([sys.stdin], [], [], left)
            if readable and not os.read(sys.stdin.fileno(), 64):
                break
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main(float(sys.argv[1]))
