"""Programs for children of the fork server. They import little, like the real ones."""

import os
import threading
import time
from pathlib import Path


def echo(job, line):
    line.send(job | ({"pid": os.getpid()} if "text" in job and len(job["text"]) < 10_000 else {}))


def hang(job, line):
    line.send({"kind": "hanging"})
    while True:
        time.sleep(60)


def crash(job, line):
    return 1 / 0


def leave(job, line):
    os._exit(3)


def show(job, line):
    descriptors = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            descriptors.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    line.send(
        {
            "descriptors": descriptors,
            "stdin": str(Path("/proc/self/fd/0").readlink()),
            "threads": threading.active_count(),
        }
    )
