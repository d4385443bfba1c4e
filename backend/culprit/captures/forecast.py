"""What a capture will cost its hosts: their size from the preflight check, corrected by what their last runs took."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.cost import HostSize, forecast_cpu_s
from collectors.registry import COLLECTORS
from culprit.captures import queries

_RUNS = 3
#: A correction beyond these bounds shows that the runs are no guide, for example because the host was out of CPU.
_SMALLEST, _GREATEST = 0.3, 3.0


def load_host_sizes(session: Session, host_ids: Sequence[UUID]) -> dict[UUID, HostSize]:
    """Return the size of each host; defaults for what is unknown."""
    checks = queries.load_latest_preflights(session, host_ids)
    sizes = {}
    for host_id in host_ids:
        check = checks.get(host_id)
        size = HostSize.of(check.facts if check else None)
        sizes[host_id] = replace(size, correction=_compute_correction(session, host_id, size))
    return sizes


def _compute_correction(session: Session, host_id: UUID, size: HostSize) -> float:
    """Return what the last runs of light collectors took, divided by their forecasts; 1 without such a run."""
    ratios = []
    for cpu_ms, collectors in queries.list_run_costs(session, host_id, _RUNS):
        seconds = {item["id"]: item["seconds"] for item in collectors if item["id"] in COLLECTORS}
        if seconds and all(COLLECTORS[name].tier is Tier.LIGHT for name in seconds):
            ratios.append(cpu_ms / 1000 / sum(forecast_cpu_s(seconds, size).values()))
    return min(_GREATEST, max(_SMALLEST, statistics.median(ratios))) if ratios else 1.0


def forecast_collector_pct(seconds: Mapping[str, int], sizes: Sequence[HostSize]) -> dict[str, float]:
    """Return percent of one CPU by collector while it runs, on the host where it costs most."""
    forecasts = [forecast_cpu_s(seconds, size) for size in sizes or [HostSize()]]
    return {
        name: round(100 * max(forecast[name] for forecast in forecasts) / duration, 2)
        for name, duration in seconds.items()
    }
