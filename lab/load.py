"""Load on a environment, and what its clients saw: the proof that a fault hurts and that health does not."""

from __future__ import annotations

import math
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

_in_healthy_phase: ContextVar[Callable[[], None] | None] = ContextVar("in_healthy_phase", default=None)


@contextmanager
def call_in_healthy_phase(action: Callable[[], None]) -> Iterator[None]:
    """Call `action` once, at the end of the first healthy phase of a scenario that is run within this context."""
    token = _in_healthy_phase.set(action)
    try:
        yield
    finally:
        _in_healthy_phase.reset(token)


@dataclass
class Load:
    """A running load generator and its log, lines of `epoch_s outcome latency_ms`.

    An outcome is "ok", "timeout" or the name of an error ("EADDRNOTAVAIL"). stats() counts requests that
    began after the last mark().
    """

    process: subprocess.Popen[bytes]
    log: Path
    since_s: float = field(default_factory=time.time)

    def mark(self) -> None:
        self.since_s = time.time()

    def stats(self) -> dict[str, float]:
        """requests, ok, errors, timeouts, p50_ms and p99_ms of the good ones (NaN without), error.NAME each."""
        outcomes: Counter[str] = Counter()
        latencies_ms = []
        text = self.log.read_text() if self.log.exists() else ""
        for line in text[: text.rfind("\n") + 1].splitlines():
            began, outcome, latency = line.split()
            if float(began) >= self.since_s:
                outcomes[outcome] += 1
                if outcome == "ok":
                    latencies_ms.append(float(latency))
        latencies_ms.sort()
        ok, timeouts, total = outcomes.pop("ok", 0), outcomes.pop("timeout", 0), sum(outcomes.values())
        results: dict[str, float] = {
            "requests": ok + timeouts + total, "ok": ok, "errors": total, "timeouts": timeouts,
            "p50_ms": _quantile(latencies_ms, 0.5), "p99_ms": _quantile(latencies_ms, 0.99),
        }  # fmt: skip
        return results | {f"error.{name}": count for name, count in sorted(outcomes.items())}

    def baseline(self, seconds: float = 3.0) -> dict[str, float]:
        """Stats of a healthy phase of `seconds`; the next phase is marked."""
        self.mark()
        time.sleep(seconds)
        healthy = self.stats()
        if (action := _in_healthy_phase.get()) is not None:
            _in_healthy_phase.set(None)
            action()
        self.mark()
        return healthy


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(0.03)


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.nan
