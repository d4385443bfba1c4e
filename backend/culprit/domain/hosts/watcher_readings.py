"""Values from the reports of a watcher: its cost, its last readings, and when it restarts after a failure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from collectors.runner.watcher import WatcherStatus

STEP_S = 5.0
MAX_REPORTS = 60
COST_WINDOW_NS = 60_000_000_000
#: A watcher that ran this long without a failure starts with a new failure count.
HEALTHY_AFTER_S = 300.0
MAX_FAILURES = 6
RETRY_DELAY_S = 60.0
MAX_RETRY_DELAY_S = 600.0


@dataclass(slots=True)
class WatcherReadings:
    """The reports of the last minutes of one session."""

    reports: deque[WatcherStatus] = field(default_factory=lambda: deque(maxlen=MAX_REPORTS))

    def add_report(self, report: WatcherStatus) -> None:
        """Add a report. One that is not later than the last is ignored: the host is not trusted."""
        if not self.reports or report.boot_ns > self.reports[-1].boot_ns:
            self.reports.append(report)

    def compute_cost(self) -> dict[str, float | None] | None:
        """Return the percent of one core over the last minute and the current use; None before the first report."""
        if not self.reports:
            return None
        last = self.reports[-1]
        first = next(report for report in self.reports if last.boot_ns - report.boot_ns <= COST_WINDOW_NS)
        span_ns = last.boot_ns - first.boot_ns
        spent_ms = last.cpu_ms - first.cpu_ms
        return {
            "cpu_pct": round(spent_ms * 1e8 / span_ns, 3) if span_ns and spent_ms >= 0 else None,
            "cpu_ms": float(last.cpu_ms),
            "rss_kb": float(last.rss_kb),
            "lookback_bytes": float(last.lookback_bytes),
        }

    def list_values(self, conditions: int) -> list[list[float | None]]:
        """Return the readings of each condition, oldest first; None where there is no data."""
        return [
            [report.values[at] if at < len(report.values) else None for report in self.reports]
            for at in range(conditions)
        ]


def compute_retry_delay_s(failures: int) -> float | None:
    """Return the seconds before the next start after so many failures in a row; None to give up."""
    return None if failures > MAX_FAILURES else min(MAX_RETRY_DELAY_S, RETRY_DELAY_S * 2.0 ** (failures - 1))
