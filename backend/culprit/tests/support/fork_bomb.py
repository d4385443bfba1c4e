"""A parser that starts as many processes as it can; see `culprit.tests.infra.test_sandbox`."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from culprit.infra.sandbox import launcher

TRIES = 50


def main(_: Mapping[str, Any]) -> None:
    """Write `result.json`: how many processes, threads and programs it could start."""
    started = {"forks": 0, "threads": 0, "programs": 0}
    for _ in range(TRIES):
        try:
            if os.fork() == 0:
                os._exit(0)
            started["forks"] += 1
        except OSError:
            pass
        try:
            threading.Thread(target=int).start()
            started["threads"] += 1
        except RuntimeError:
            pass
    for _ in range(TRIES):
        try:
            with Path("output").open("wb") as out:
                path = launcher._programs[0]
                launcher.start_program(path, ["--version"], out.fileno(), out.fileno()).wait(10)
            started["programs"] += 1
        except OSError:
            break
    Path("result.json").write_text(json.dumps(started), encoding="utf-8")
