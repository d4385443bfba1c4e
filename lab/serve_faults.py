"""Run hosts with faults and repair them on request: for end-to-end tests and the demo.

    python -m lab serve ID [ID ...] [--seed N] [--max-s S]

The protocol is lines of JSON. The first line is {"ready": …} once the faults are in place: how to log in, the causes,
what clients measured while the host was healthy. Then each input line is one command: `stats` (what clients measured
since the fault, or since `mark`), `mark`, `repair CAUSE` (removes that fault, the load continues), `end`. The process
ends, and removes everything, at `end`, at the end of its input, and after `--max-s`.
"""

from __future__ import annotations

import json
import math
import random
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import FrameType
from typing import Any, TextIO

from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario

Json = dict[str, Any]
MAX_S = 1800.0


def serve_faults(
    chosen: Sequence[Scenario], seed: int, max_s: float, commands: TextIO, text_io: TextIO
) -> int:
    """See the module. Returns an exit status."""
    with ExitStack() as stack:
        environment = stack.enter_context(LabEnvironment(max_s=max_s + 60))
        rng = random.Random(seed)
        lives = {
            (item.causes or (item.id,))[0]: stack.enter_context(item.run(environment, rng)) for item in chosen
        }
        time.sleep(max(item.seconds for item in chosen))
        _send(text_io, {"ready": _ready(list(chosen), lives)})
        for line in commands:
            word, _, rest = line.strip().partition(" ")
            if word == "end":
                break
            _send(text_io, _run_command(lives, word, rest))
    return 0


def _run_command(lives: Mapping[str, Live], word: str, rest: str) -> Json:
    if word == "mark":
        for live in lives.values():
            live.mark()
        return {"marked": list(lives)}
    if word == "stats":
        return {"stats": {name: _stats(live) for name, live in lives.items()}}
    live = lives.get(rest)
    if word != "repair" or live is None or live.repair is None:
        return {"error": f"no such command: {word} {rest}".strip()}
    live.repair()
    return {"repaired": rest}


def _ready(chosen: Sequence[Scenario], lives: Mapping[str, Live]) -> Json:
    first = next(iter(lives.values()))
    host = first.host
    return {
        "name": host.name,
        "address": host.address,
        "port": host.port,
        "username": host.user,
        "private_key": host.key.read_text(),
        "fingerprint": host.fingerprint,
        "scope": first.scope if len(lives) == 1 else {},
        "access_log": next((live.access_log for live in lives.values() if live.access_log), ""),
        "causes": list(lives),
        "repairable": [cause for cause, live in lives.items() if live.repair],
        "summaries": [item.summary for item in chosen],
        "service_port": first.parameters.get("port"),
        "healthy": {cause: _finite(live.parameters.get("healthy", {})) for cause, live in lives.items()},
        "faulty": {cause: _stats(live) for cause, live in lives.items()},
    }


def _stats(live: Live) -> Json:
    return _finite(live.stats())


def _finite(stats: object) -> Json:
    """JSON knows no NaN: what clients could not measure is null."""
    if not isinstance(stats, dict):
        return {}
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in stats.items()
    }


def _send(text_io: TextIO, what: Json) -> None:
    text_io.write(json.dumps(what, default=str) + "\n")
    text_io.flush()


def main(chosen: Sequence[Scenario], seed: int, max_s: float) -> int:
    """On standard input and output, for `max_s` at most."""
    signal.signal(signal.SIGALRM, _stop_at_deadline)
    signal.setitimer(signal.ITIMER_REAL, max_s)
    return serve_faults(chosen, seed, max_s, sys.stdin, sys.stdout)


def _stop_at_deadline(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
