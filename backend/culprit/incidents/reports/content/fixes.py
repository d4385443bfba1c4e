"""Content of a report about fixes: the changes, and the numbers before and after."""

from __future__ import annotations

from culprit.incidents.reports.content import names as naming
from culprit.incidents.reports.content.sources import Sources
from culprit.incidents.responses.schemas import FixResponse, IncidentResponse, VerificationResponse
from culprit.json_types import Json

VALUES = 240
"""Readings of one window that are drawn."""


def build_fixes(incident: IncidentResponse, sources: Sources, language: str) -> list[Json]:
    """Return all fixes."""
    names = {str(host.id): host.name for host in incident.hosts}
    return [_build_fix(fix, names, sources, language) for fix in incident.fixes]


def _build_fix(fix_response: FixResponse, names: dict[str, str], sources: Sources, language: str) -> Json:
    return {
        "what": fix_response.what,
        "command": fix_response.command,
        "risk": fix_response.risk,
        "rollback": fix_response.rollback,
        "state": fix_response.state,
        "at": fix_response.applied_at.isoformat() if fix_response.applied_at else None,
        "hosts": [names[str(each)] for each in fix_response.hosts if str(each) in names],
        "verifications": [
            _build_verification(each, names, sources, language) for each in fix_response.verifications
        ],
    }


def _build_verification(
    verification_response: VerificationResponse, names: dict[str, str], sources: Sources, language: str
) -> Json:
    result = verification_response.result or {}
    read = (verification_response.primary.read if verification_response.primary else "") or str(
        (result.get("primary") or {}).get("read", "")
    )
    windows = [_build_window(each, names, sources) for each in result.get("windows", [])]
    return {
        "kind": verification_response.kind,
        "state": verification_response.state,
        "measure": read,
        "measure_title": naming.get_reading_title(read, language),
        "better": verification_response.primary.better
        if verification_response.primary
        else (result.get("primary") or {}).get("better"),
        "unit": (result.get("primary") or {}).get("unit", ""),
        "outcome": result.get("outcome"),
        **{name: result.get(name) for name in ("change", "low", "high", "p", "minimum_change", "confidence")},
        "load": {
            name: (result.get("load") or {}).get(name) for name in ("before", "after", "change", "unit")
        },
        "before": _compute_mean(windows, "before"),
        "after": _compute_mean(windows, "after"),
        "reasons": [
            naming.render_stored_message(each, language)
            for each in (
                *result.get("reasons", ()),
                *([verification_response.failure] if verification_response.failure else []),
            )
        ],
        "windows": windows,
    }


def _build_window(item: Json, names: dict[str, str], sources: Sources) -> Json:
    step = max(1, -(-len(item["values"]) // VALUES))
    cited = [sources.citation(each) for each in item.get("citations", [])[:3]]
    return {
        "side": item["side"],
        "host": names.get(item["host"], ""),
        "mean": item["mean"],
        "load": item["load"],
        "values": item["values"][::step],
        "cites": list(dict.fromkeys(filter(None, cited))),
    }


def _compute_mean(windows: list[Json], side: str) -> float | None:
    means = [window["mean"] for window in windows if window["side"] == side and window["mean"] is not None]
    return sum(means) / len(means) if means else None
