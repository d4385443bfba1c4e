"""The first text of a report, from the data of its incident; users edit it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from culprit.domain.messages import render_message
from culprit.domain.notifications.message import format_number
from culprit.domain.notifications.units import get_unit_label
from culprit.incidents.records.requests import SymptomNumber
from culprit.incidents.reports.content import names as naming
from culprit.incidents.responses.schemas import FixResponse, IncidentResponse

LEVELS = ("latency", "errors", "rate")


def write_summary(incident: IncidentResponse, language: str, zone: str) -> str:
    """Return symptom, causes, fixes with what they changed, and what was ruled out, a sentence each."""
    return " ".join(_list_sentences(incident, language, zone))


def write_impact(incident: IncidentResponse, language: str, zone: str) -> str:
    """Return the levels of the symptom with its begin and end; "" if no level is known."""
    levels = _format_levels(incident, language)
    if not levels:
        return ""
    begin = incident.symptom.since or incident.window.from_
    end = incident.window.to or incident.resolved_at
    if end is None:
        return _render_text(
            "report.draft_impact_open", language, levels=levels, begin=_format_time(begin, zone)
        )
    return _render_text(
        "report.draft_impact",
        language,
        levels=levels,
        begin=_format_time(begin, zone),
        end=_format_time(end, zone),
    )


def find_mitigation_time(incident: IncidentResponse) -> datetime | None:
    """Return when the incident was mitigated, or resolved without that; None before."""
    reached = {item.state: item.at for item in incident.times}
    return reached.get("mitigated") or reached.get("resolved")


def _list_sentences(incident: IncidentResponse, language: str, zone: str) -> Iterator[str]:
    begin = incident.symptom.since or incident.window.from_
    yield _render_text(
        "report.draft_symptom", language, service=incident.symptom.service or incident.title,
        levels=_format_levels(incident, language), begin=_format_time(begin, zone),
    )  # fmt: skip
    rejected = {item.cause for item in incident.rejected_causes}
    named = [item for item in incident.causes if not item.cause or item.cause not in rejected]
    summaries = {item.key: item.summary for item in incident.hypotheses}
    for cause in named:
        title = naming.get_cause_title(cause.cause, language) if cause.cause else ""
        title = title or naming.pick_stored_text(dict(summaries.get(cause.hypothesis, {})), language)
        yield _render_text(f"report.draft_cause_{cause.confidence}", language, cause=title)
    if not named:
        yield _render_text("report.draft_no_cause", language)
    for fix in incident.fixes:
        if fix.state not in {"planned", "reverted"}:
            yield _describe_fix(fix, language)
    ruled_out = [item.cause for item in incident.hypotheses if item.status == "refuted" and item.cause]
    if ruled_out:
        causes = ", ".join(naming.get_cause_title(item, language) for item in dict.fromkeys(ruled_out))
        yield _render_text("report.draft_ruled_out", language, causes=causes)


def _describe_fix(fix: FixResponse, language: str) -> str:
    """Return the fix with its last result."""
    result = next((item.result for item in reversed(fix.verifications) if item.result), None)
    if fix.state != "verified" or not result or result.get("change") is None:
        return _render_text(f"report.draft_fix_{fix.state}", language, fix=fix.what)
    read = str((result.get("primary") or {}).get("read", ""))
    return _render_text(
        "report.draft_fix_measured", language, fix=fix.what,
        number=naming.get_reading_title(read, language),
        change=f"{100 * float(result['change']):+.0f} %",
    )  # fmt: skip


def _format_levels(incident: IncidentResponse, language: str) -> str:
    return ", ".join(
        f"{_render_text(f'report.draft_{name}', language)} {text}"
        for name in LEVELS
        if (level := getattr(incident.symptom, name)) is not None and (text := _format_level(level))
    )


def _format_level(level: SymptomNumber) -> str:
    unit = f" {label}" if (label := get_unit_label(level.unit)) else ""
    values = [format_number(value) + unit for value in (level.before, level.after) if value is not None]
    return " → ".join(values)


def _format_time(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    return f"{local:%Y-%m-%d %H:%M} {local.tzname()}"


def _render_text(key: str, language: str, **params: object) -> str:
    return render_message(key, params, language)
