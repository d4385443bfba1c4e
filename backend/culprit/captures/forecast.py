"""Forecast the cost of a capture from the size of its hosts (preflight check) and the cost of their last runs."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.cost import HostSize, forecast_cpu_s
from collectors.parse.perf import perf_data
from collectors.registry import COLLECTORS
from collectors.runner import symbols
from collectors.shell.perf import NAMED_BY_SERVER
from culprit.captures import queries
from culprit.captures.schemas import PreviewSymbols
from culprit.web.schemas import MessageRef

_RUNS = 3
#: Number of symbol fetches that are averaged. Most captures of a host need no new symbols.
_FETCHES = 5
#: Bytes and milliseconds of CPU of a first fetch on a busy machine: docs/figures.md.
_FIRST_FETCH = (10e6, 900.0)
#: Bounds of the correction. Runs beyond them are not representative, for example because the host was out of CPU.
_SMALLEST, _GREATEST = 0.3, 3.0


def load_host_sizes(session: Session, host_ids: Sequence[UUID]) -> dict[UUID, HostSize]:
    """Return the size of each host, with defaults for unknown values."""
    checks = queries.load_latest_preflights(session, host_ids)
    sizes = {}
    for host_id in host_ids:
        check = checks.get(host_id)
        size = HostSize.of(check.facts if check else None)
        sizes[host_id] = replace(size, correction=_compute_correction(session, host_id, size))
    return sizes


def _compute_correction(session: Session, host_id: UUID, size: HostSize) -> float:
    """Return the median ratio of measured to forecast CPU time of the last runs with only light collectors.

    The ratio is limited to `_SMALLEST` and `_GREATEST`; it is 1 without such a run.
    """
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


def forecast_symbols(
    session: Session, host_ids: Sequence[UUID], collectors: Collection[str]
) -> PreviewSymbols | None:
    """Return the cost of the symbol fetch on the host where it is highest, or None if no collector needs symbols."""
    if not NAMED_BY_SERVER.intersection(collectors) or not perf_data.is_available():
        return None
    costs = [_forecast_fetch(session, host_id) for host_id in host_ids]
    size, cpu_ms, is_first = max(costs, default=(*_FIRST_FETCH, True))
    key = "capture.symbols_first" if is_first else "capture.symbols_again"
    params = {
        "mb": round(size / 1e6, 1),
        "cpu_s": round(cpu_ms / 1000, 2),
        "limit_mb": round(symbols.MAX_BYTES / 1e6),
    }
    return PreviewSymbols(
        bytes=round(size),
        cpu_s=round(cpu_ms / 1000, 3),
        max_bytes=symbols.MAX_BYTES,
        is_first=is_first,
        text=MessageRef(key=key, params=params),
    )


def _forecast_fetch(session: Session, host_id: UUID) -> tuple[float, float, bool]:
    """Return bytes and milliseconds of CPU of the next fetch from a host, and whether it is the first one."""
    fetches = queries.list_symbol_fetches(session, host_id, _FETCHES)
    if not fetches:
        return (*_FIRST_FETCH, True)
    return (
        statistics.fmean(size for size, _ in fetches),
        statistics.fmean(cpu_ms for _, cpu_ms in fetches),
        False,
    )
