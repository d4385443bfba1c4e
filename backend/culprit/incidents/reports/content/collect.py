"""Content of a report with all original names: the input of the redaction, which is never published."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from culprit import VERSION
from culprit.accounts.actor import Actor
from culprit.domain.messages import render_message
from culprit.domain.reports.words import LABELS, get_label
from culprit.incidents.comments import service
from culprit.incidents.records import queries as incidents
from culprit.incidents.reports import queries
from culprit.incidents.reports.content import fixes
from culprit.incidents.reports.content import names as naming
from culprit.incidents.reports.content.chain import Chain
from culprit.incidents.reports.content.sources import Sources
from culprit.incidents.responses import incident as read
from culprit.incidents.responses.schemas import IncidentResponse, JournalEntryResponse
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.clock import utc_now
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.reports.report import Report
from culprit.json_types import Json

FORMAT = "culprit-report"
FORMAT_VERSION = 1
#: Kinds of journal entries that the timeline of a report omits: they concern the work on the incident.
OMITTED_KINDS = frozenset(
    {
        "pin_added", "incident_updated", "finding_muted", "finding_unmuted", "fix_updated", "playbooks_added",
        "comment_added", "comment_edited", "comment_withdrawn",
    }
)  # fmt: skip
MAX_EVENTS = 400


def build_document(
    session: Session, actor: Actor, store: ArtifactStore, incident: Incident, report: Report
) -> Json:
    """Build the report as one structure; `hosts[].id` are the hosts of the report."""
    language = report.language
    whole = read.build_incident(session, actor, incident)
    sources = Sources(session, actor, store, {str(host.id): host.name for host in whole.hosts})
    chain = Chain(whole, sources, language)
    reported: Json = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "culprit": VERSION,
        "language": language,
        "zone": report.zone,
        "preset": report.preset,
        "redacted": sorted(report.kinds),
        "at": utc_now().isoformat(timespec="seconds"),
        "title": report.title,
        "incident": _build_incident(whole),
        "summary": report.summary,
        "impact": report.impact,
        "detected_at": _to_iso(report.detected_at),
        "mitigated_at": _to_iso(report.mitigated_at),
        "hosts": [
            {"id": str(host.id), "host": host.name, "role": host.role, "scope": host.scope}
            for host in whole.hosts
        ],
        "causes": chain.causes(),
        "gates": chain.gates(),
        "chain": chain.hypotheses(),
        "ruled_out": chain.ruled_out(),
        "not_checked": chain.not_checked(),
        "not_covered": _list_not_covered(session, incident, language),
        "fixes": fixes.build_fixes(whole, sources, language),
        "pins": chain.pins(),
        "follow_ups": report.follow_ups,
        "timeline": _build_timeline(session, actor, incident, report, whole),
    }
    reported["sources"] = sources.listed
    reported["trees"] = sources.trees
    reported["artifacts"] = sorted(
        sources.artifacts.values(),
        key=lambda artifact: (artifact["host"], artifact["collector"], artifact["part"]),
    )
    return reported


def _build_incident(whole: IncidentResponse) -> Json:
    symptom = whole.symptom
    return {
        "number": whole.number,
        "title": whole.title,
        "state": whole.state,
        "severity": whole.severity,
        "from": _to_iso(whole.window.from_),
        "to": _to_iso(whole.window.to),
        "opened_at": _to_iso(whole.created_at),
        "resolved_at": _to_iso(whole.resolved_at),
        "symptom": {
            "service": symptom.service,
            "description": symptom.description,
            "levels": [
                {"name": name, **level.model_dump()}
                for name in ("rate", "errors", "latency")
                if (level := getattr(symptom, name)) is not None
            ],
        },
    }


def _list_not_covered(session: Session, incident: Incident, language: str) -> list[str]:
    playbooks = [
        naming.pick_stored_text(item, language) if isinstance(item, dict) else str(item)
        for book in incidents.list_playbooks(session, incident.id)
        for item in book.content.get("not_covered") or ()
    ]
    return list(dict.fromkeys(filter(None, playbooks)))


def _build_timeline(
    session: Session, actor: Actor, incident: Incident, report: Report, whole: IncidentResponse
) -> list[Json]:
    rows = read.build_journal(session, actor, incident, incidents.list_entries(session, incident.id))
    questions = {
        step.key: naming.pick_stored_text(step.question.model_dump(), report.language) for step in whole.steps
    }
    events = [_build_event(row, questions, report.language) for row in rows if row.kind not in OMITTED_KINDS]
    if report.comments:
        events += _build_comments(session, incident, report.language)
    events += [_build_events(item, name) for item, name in queries.list_events(session, whole)]
    marks = [
        ("report.window_from", whole.window.from_),
        ("report.window_to", whole.window.to),
        ("report.detected", report.detected_at),
        ("report.mitigated", report.mitigated_at),
    ]
    events += [
        {"at": _to_iso(at), "text": render_message(key, {}, report.language), "by": "", "note": ""}
        for key, at in marks
        if at
    ]
    return sorted(events, key=lambda event: str(event["at"]))[:MAX_EVENTS]


def _build_comments(session: Session, incident: Incident, language: str) -> list[Json]:
    """Return the comments if the authors of the report include them, without withdrawn ones."""
    rows = list(service.list_for_report(session, incident))
    names = incidents.load_user_names(session, (row.by for row in rows))
    return [
        {
            "at": _to_iso(row.at),
            "text": render_message(
                "journal.comment_added", {"about": row.ref or f"#{incident.number}"}, language
            ),
            "by": names.get(row.by, ""),
            "note": row.text,
        }
        for row in rows
    ]


def _build_event(
    journal_entry_response: JournalEntryResponse, questions: Mapping[str, str], language: str
) -> Json:
    params = {
        name: value
        for name, value in journal_entry_response.params.items()
        if isinstance(value, str | int | float)
    }
    if isinstance(causes := params.get("causes"), str):
        params["causes"] = ", ".join(naming.get_cause_title(each, language) for each in causes.split(", "))
    if isinstance(steps := params.get("steps"), str):
        params["steps"] = "; ".join(build_answers(each, questions, language) for each in steps.split("; "))
    return {
        "at": _to_iso(journal_entry_response.at),
        "text": render_message(f"journal.{journal_entry_response.kind}", params, language),
        "by": journal_entry_response.by.name if journal_entry_response.by else "Culprit",
        "note": journal_entry_response.note,
    }


def build_answers(reported: str, questions: Mapping[str, str], language: str) -> str:
    """Format `key: verdict` of a journal entry for readers; return other text unchanged."""
    key, colon, verdict = reported.rpartition(": ")
    if not colon or key not in questions or f"verdict.{verdict}" not in LABELS:
        return reported
    return f"{questions[key]} {get_label(f'verdict.{verdict}', language)}"


def _build_events(event: ReportedEvent, reported_by: str) -> Json:
    """Return reported events during the incident, in the words of their authors."""
    at = datetime.fromtimestamp(event.t_ns // 1_000_000_000, UTC)
    return {
        "at": _to_iso(at),
        "text": f"{event.kind}: {event.what}",
        "by": event.who or reported_by,
        "note": event.detail,
    }


def _to_iso(at: datetime | None) -> str | None:
    return at.isoformat(timespec="seconds") if at else None
