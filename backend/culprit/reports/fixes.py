"""The fixes of an incident as a report tells them: what was changed, and the numbers before and after."""

from __future__ import annotations

from typing import Any

from culprit.incidents.schemas import FixRead, IncidentRead, VerificationRead
from culprit.reports import naming
from culprit.reports.sources import Sources

Json = dict[str, Any]
VALUES = 240
"""Readings of one window that are drawn."""


def told(incident: IncidentRead, sources: Sources, language: str) -> list[Json]:
    """Every fix."""
    names = {str(one.id): one.name for one in incident.hosts}
    return [_fix(one, names, sources, language) for one in incident.fixes]


def _fix(one: FixRead, names: dict[str, str], sources: Sources, language: str) -> Json:
    return {
        "what": one.what,
        "run": one.command,
        "risk": one.risk,
        "way_back": one.way_back,
        "state": one.state,
        "at": one.applied_at.isoformat() if one.applied_at else None,
        "hosts": [names[str(each)] for each in one.hosts if str(each) in names],
        "verifications": [_verification(each, names, sources, language) for each in one.verifications],
    }


def _verification(one: VerificationRead, names: dict[str, str], sources: Sources, language: str) -> Json:
    result = one.result or {}
    read = (one.primary.read if one.primary else "") or str((result.get("primary") or {}).get("read", ""))
    windows = [_window(each, names, sources) for each in result.get("windows", [])]
    return {
        "kind": one.kind,
        "state": one.state,
        "measure": read,
        "measure_title": naming.named(read, language),
        "better": one.primary.better if one.primary else (result.get("primary") or {}).get("better"),
        "unit": (result.get("primary") or {}).get("unit", ""),
        "outcome": result.get("outcome"),
        **{name: result.get(name) for name in ("change", "low", "high", "p", "bar", "confidence")},
        "load": {
            name: (result.get("load") or {}).get(name) for name in ("before", "after", "change", "unit")
        },
        "before": _mean(windows, "before"),
        "after": _mean(windows, "after"),
        "reasons": [
            naming.sentence(each, language)
            for each in (*result.get("reasons", ()), *([one.failure] if one.failure else []))
        ],
        "windows": windows,
    }


def _window(one: Json, names: dict[str, str], sources: Sources) -> Json:
    step = max(1, -(-len(one["values"]) // VALUES))
    cited = [sources.cite(each) for each in one.get("citations", [])[:3]]
    return {
        "side": one["side"],
        "host": names.get(one["host"], ""),
        "mean": one["mean"],
        "load": one["load"],
        "values": one["values"][::step],
        "cites": list(dict.fromkeys(filter(None, cited))),
    }


def _mean(windows: list[Json], side: str) -> float | None:
    means = [one["mean"] for one in windows if one["side"] == side and one["mean"] is not None]
    return sum(means) / len(means) if means else None
