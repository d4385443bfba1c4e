"""Demo load for a first flame graph: `-m culprit.hosts.demo_load SECONDS`.

Four kinds of work, one process each, named after their work. Three of them run in the kernel, whose frames
have names on every host, even if libraries are stripped. They end after SECONDS, when standard input is
closed (the platform ended), or on SIGTERM. Standard library only; nothing is written
to a disk.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_SECONDS = 30
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
PAGES = 8 << 20
CHUNK = 32 << 10


@contextmanager
def run_parse_load() -> Iterator[Callable[[], object]]:
    """Parse and write JSON, and sort words by their reversed spelling."""
    data = generate_text()
    rows = [{"line": line.decode(), "length": len(line)} for line in data.splitlines()]

    def once() -> None:
        json.loads(json.dumps(rows))
        sorted(data.split(), key=lambda word: word[::-1])

    yield once


@contextmanager
def run_page_load() -> Iterator[Callable[[], object]]:
    """Allocate memory, write each page, and free it."""

    def once() -> None:
        with mmap.mmap(-1, PAGES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as taken:
            for at in range(0, PAGES, mmap.PAGESIZE):
                taken[at] = 1

    yield once


@contextmanager
def run_loopback_load() -> Iterator[Callable[[], object]]:
    """Send messages over TCP on the loopback interface."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as near,
        server.accept()[0] as far,
    ):
        message = bytes(CHUNK)

        def once() -> None:
            near.sendall(message)
            left = CHUNK
            while left:
                left -= len(far.recv(left))

        yield once


@contextmanager
def run_file_load() -> Iterator[Callable[[], object]]:
    """List directories, and read file metadata and contents from the page cache."""
    place = Path(os.__file__).parent

    def once() -> None:
        for entry in place.iterdir():
            if entry.is_file() and entry.stat().st_size < CHUNK:
                with entry.open("rb", buffering=0) as file:
                    file.read()

    yield once


LOADS = {
    "busy-parse": run_parse_load,
    "busy-pages": run_page_load,
    "busy-tcp": run_loopback_load,
    "busy-files": run_file_load,
}


def generate_text(size: int = 40_000) -> bytes:
    """Return lines of words, the same every time."""
    chosen = random.Random(7)  # noqa: S311
    words = ["".join(chosen.choices("etaoinshrdlu", k=chosen.randint(2, 9))) for _ in range(size // 6)]
    return "\n".join(" ".join(words[n : n + 9]) for n in range(0, len(words), 9)).encode()


def run_load_until(moment: float, name: str) -> None:
    """Run one process."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.prctl(PR_SET_NAME, name.encode())
    with LOADS[name]() as once:
        while time.monotonic() < moment:
            once()


def main(seconds: float) -> None:
    """Start the processes, and end them all."""
    end = time.monotonic() + min(seconds, MAX_SECONDS)
    os.nice(10)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    children = []
    for name in LOADS:
        child = os.fork()
        if child == 0:
            run_load_until(end, name)
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
