"""What is made of the words of something that waits on a host: its cost, its last readings, when it begins again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from collectors.standby import Watching

STEP_S = 5.0
SHOWN = 60
COST_OVER_NS = 60_000_000_000
#: A watcher that held for so long had nothing wrong with it; what happens afterwards is counted anew.
SOUND_S = 300.0
MAX_FAILURES = 6
PAUSE_S = 60.0
MAX_PAUSE_S = 600.0


@dataclass(slots=True)
class Heard:
    """The last minutes of one session."""

    reports: deque[Watching] = field(default_factory=lambda: deque(maxlen=SHOWN))

    def take(self, report: Watching) -> None:
        """One more report. One that is not later than the last comes from a host that tells tales."""
        if not self.reports or report.boot_ns > self.reports[-1].boot_ns:
            self.reports.append(report)

    def cost(self) -> dict[str, float | None] | None:
        """Percent of one core over the last minute, and what it takes now; None before the first report."""
        if not self.reports:
            return None
        last = self.reports[-1]
        first = next(one for one in self.reports if last.boot_ns - one.boot_ns <= COST_OVER_NS)
        span_ns = last.boot_ns - first.boot_ns
        spent_ms = last.cpu_ms - first.cpu_ms
        return {
            "cpu_pct": round(spent_ms * 1e8 / span_ns, 3) if span_ns and spent_ms >= 0 else None,
            "cpu_ms": float(last.cpu_ms),
            "rss_kb": float(last.rss_kb),
            "ring_bytes": float(last.ring_bytes),
        }

    def values(self, conditions: int) -> list[list[float | None]]:
        """For each condition its readings, the oldest first; None where there was none."""
        return [
            [one.values[at] if at < len(one.values) else None for one in self.reports]
            for at in range(conditions)
        ]


def pause_s(failures: int) -> float | None:
    """Seconds until a host is tried again on which it failed so often in a row; None where it is not."""
    return None if failures > MAX_FAILURES else min(MAX_PAUSE_S, PAUSE_S * 2.0 ** (failures - 1))
