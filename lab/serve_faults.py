"""Keeps a sick host standing for whoever investigates it, and cures it on request: for journeys and the demo.

    python -m e2e.lab stand ID [ID ...] [--seed N] [--max-s S]

Speaks lines of JSON. It says {"ready": …} once the host is sick: how to log in, what is wrong with it, what clients
saw while it was well. Then it takes one command a line: `stats` (what clients have seen since it was sick, or since
`mark`), `cure CAUSE` (takes that fault away, the load goes on), `end`. It ends, and removes everything, at `end`, at
the end of its input, and after `--max-s`.
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

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site

Json = dict[str, Any]
MAX_S = 1800.0


def stand(chosen: Sequence[Scenario], seed: int, max_s: float, commands: TextIO, say: TextIO) -> int:
    """See the module. Returns an exit status."""
    with ExitStack() as stack:
        site = stack.enter_context(Site(max_s=max_s + 60))
        rng = random.Random(seed)
        lives = {(one.causes or (one.id,))[0]: stack.enter_context(one.run(site, rng)) for one in chosen}
        time.sleep(max(one.seconds for one in chosen))
        _say(say, {"ready": _ready(list(chosen), lives)})
        for line in commands:
            word, _, rest = line.strip().partition(" ")
            if word == "end":
                break
            _say(say, _obey(lives, word, rest))
    return 0


def _obey(lives: Mapping[str, Live], word: str, rest: str) -> Json:
    if word == "mark":
        for live in lives.values():
            live.mark()
        return {"marked": list(lives)}
    if word == "stats":
        return {"stats": {name: _stats(live) for name, live in lives.items()}}
    live = lives.get(rest)
    if word != "cure" or live is None or live.cure is None:
        return {"error": f"no such command: {word} {rest}".strip()}
    live.cure()
    return {"cured": rest}


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
        "cures": [cause for cause, live in lives.items() if live.cure],
        "says": [one.summary for one in chosen],
        "service_port": first.parameters.get("port"),
        "healthy": {cause: _finite(live.parameters.get("healthy", {})) for cause, live in lives.items()},
        "sick": {cause: _stats(live) for cause, live in lives.items()},
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


def _say(say: TextIO, what: Json) -> None:
    say.write(json.dumps(what, default=str) + "\n")
    say.flush()


def main(chosen: Sequence[Scenario], seed: int, max_s: float) -> int:
    """On standard input and output, for `max_s` at most."""
    signal.signal(signal.SIGALRM, _over)
    signal.setitimer(signal.ITIMER_REAL, max_s)
    return stand(chosen, seed, max_s, sys.stdin, sys.stdout)


def _over(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
