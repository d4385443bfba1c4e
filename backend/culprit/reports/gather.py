"""Everything that a report says, as it stands now and with all names: the input of the redaction, never sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.core.reports.words import WORDS, word
from culprit.incidents import comments, read
from culprit.incidents import queries as incidents
from culprit.incidents.schemas import IncidentRead, JournalRead
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.clock import now
from culprit.kit.sentences import say
from culprit.kit.version import VERSION
from culprit.models import Annotation, Incident, Report
from culprit.reports import fixes, naming, queries
from culprit.reports.chain import Chain
from culprit.reports.sources import Sources

Json = dict[str, Any]
FORMAT = "culprit-report"
FORMAT_VERSION = 1
#: What the journal tells for people at work, and no reader of a report misses.
_LEFT_OUT = frozenset(
    {
        "pin", "edited", "muted", "unmuted", "fix_changed", "playbooks",
        "comment", "comment_edited", "comment_withdrawn",
    }
)  # fmt: skip
MOST_EVENTS = 400


def document(
    session: Session, actor: Actor, store: ArtifactStore, incident: Incident, report: Report
) -> Json:
    """The report as one structure; `hosts[].id` are of the hosts that it tells of."""
    language = report.language
    whole = read.read(session, actor, incident)
    sources = Sources(session, actor, store, {str(one.id): one.name for one in whole.hosts})
    chain = Chain(whole, sources, language)
    told: Json = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "culprit": VERSION,
        "language": language,
        "zone": report.zone,
        "preset": report.preset,
        "redacted": sorted(report.kinds),
        "at": now().isoformat(timespec="seconds"),
        "title": report.title,
        "incident": _incident(whole),
        "summary": report.summary,
        "impact": report.impact,
        "detected_at": _iso(report.detected_at),
        "mitigated_at": _iso(report.mitigated_at),
        "hosts": [
            {"id": str(one.id), "host": one.name, "role": one.role, "scope": one.scope} for one in whole.hosts
        ],
        "causes": [
            {"cause": naming.cause(one.cause, language), "confidence": one.confidence} for one in whole.causes
        ],
        "gates": chain.gates(),
        "chain": chain.hypotheses(),
        "ruled_out": chain.ruled_out(),
        "not_looked_at": chain.not_looked_at(),
        "not_covered": _not_covered(session, incident, language),
        "fixes": fixes.told(whole, sources, language),
        "pins": chain.pins(),
        "follow_ups": report.follow_ups,
        "timeline": _timeline(session, actor, incident, report, whole),
    }
    told["sources"] = sources.listed
    told["trees"] = sources.trees
    told["artifacts"] = sorted(
        sources.artifacts.values(), key=lambda one: (one["host"], one["collector"], one["part"])
    )
    return told


def _incident(whole: IncidentRead) -> Json:
    symptom = whole.symptom
    return {
        "number": whole.number,
        "title": whole.title,
        "state": whole.state,
        "severity": whole.severity,
        "from": _iso(whole.window.from_),
        "to": _iso(whole.window.to),
        "opened_at": _iso(whole.created_at),
        "resolved_at": _iso(whole.resolved_at),
        "symptom": {
            "service": symptom.service,
            "says": symptom.says,
            "levels": [
                {"name": name, **level.model_dump()}
                for name in ("rate", "errors", "latency")
                if (level := getattr(symptom, name)) is not None
            ],
        },
    }


def _not_covered(session: Session, incident: Incident, language: str) -> list[str]:
    found = [
        naming.either(one, language) if isinstance(one, dict) else str(one)
        for book in incidents.playbooks(session, incident.id)
        for one in book.content.get("not_covered") or ()
    ]
    return list(dict.fromkeys(filter(None, found)))


def _timeline(
    session: Session, actor: Actor, incident: Incident, report: Report, whole: IncidentRead
) -> list[Json]:
    rows = read.journal(session, actor, incident, incidents.journal(session, incident.id))
    asks = {one.key: naming.either(one.asks.model_dump(), report.language) for one in whole.steps}
    told = [_event(one, asks, report.language) for one in rows if one.kind not in _LEFT_OUT]
    if report.comments:
        told += _comments(session, incident, report.language)
    told += [_told(one, name) for one, name in queries.told(session, whole)]
    marks = [
        ("report.window_from", whole.window.from_),
        ("report.window_to", whole.window.to),
        ("report.detected", report.detected_at),
        ("report.mitigated", report.mitigated_at),
    ]
    told += [
        {"at": _iso(at), "text": say(key, {}, report.language), "by": "", "note": ""}
        for key, at in marks
        if at
    ]
    return sorted(told, key=lambda one: str(one["at"]))[:MOST_EVENTS]


def _comments(session: Session, incident: Incident, language: str) -> list[Json]:
    """What people wrote, where the report's authors have chosen to tell it; what was taken back is gone."""
    rows = list(comments.told_in_report(session, incident))
    names = incidents.names(session, (one.by for one in rows))
    return [
        {
            "at": _iso(one.at),
            "text": say("journal.comment", {"about": one.ref or f"#{incident.number}"}, language),
            "by": names.get(one.by, ""),
            "note": one.text,
        }
        for one in rows
    ]


def _event(one: JournalRead, asks: Mapping[str, str], language: str) -> Json:
    params = {name: value for name, value in one.params.items() if isinstance(value, str | int | float)}
    if isinstance(causes := params.get("causes"), str):
        params["causes"] = ", ".join(naming.cause(each, language) for each in causes.split(", "))
    if isinstance(steps := params.get("steps"), str):
        params["steps"] = "; ".join(answered(each, asks, language) for each in steps.split("; "))
    return {
        "at": _iso(one.at),
        "text": say(f"journal.{one.kind}", params, language),
        "by": one.by.name if one.by else "Culprit",
        "note": one.note,
    }


def answered(told: str, asks: Mapping[str, str], language: str) -> str:
    """`key: verdict` of the journal as people read it; as it stands where it is something else."""
    key, colon, verdict = told.rpartition(": ")
    if not colon or key not in asks or f"verdict.{verdict}" not in WORDS:
        return told
    return f"{asks[key]} {word(f'verdict.{verdict}', language)}"


def _told(one: Annotation, told_by: str) -> Json:
    """A deploy or a note of the time of the incident, in the words of who told it."""
    at = datetime.fromtimestamp(one.t_ns // 1_000_000_000, UTC)
    return {"at": _iso(at), "text": f"{one.kind}: {one.what}", "by": one.who or told_by, "note": one.detail}


def _iso(at: datetime | None) -> str | None:
    return at.isoformat(timespec="seconds") if at else None
