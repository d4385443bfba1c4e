"""Exports a feed every few seconds and notes what it did in its log, which stays open."""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
import time
from pathlib import Path

log = Path(sys.argv[1]).open("a", buffering=1)  # noqa: SIM115 - open as long as the process
draw = random.Random(sys.argv[1])
while True:
    digest = hashlib.sha256(draw.randbytes(200_000)).hexdigest()
    with contextlib.suppress(OSError):
        log.write(
            f"{time.strftime('%Y-%m-%dT%H:%M:%S')} exported {draw.randrange(4000)} entries, digest {digest}\n"
        )
    time.sleep(draw.uniform(0.2, 1.5))
