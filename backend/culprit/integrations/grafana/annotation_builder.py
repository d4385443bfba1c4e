"""Build annotations of captures, incidents with their causes and fixes, and reported events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_captures_clause
from culprit.domain.integrations.grafana import AnnotationContent, build_annotation
from culprit.domain.messages import render_message
from culprit.domain.rules.registry import CAUSES
from culprit.evidence.events.queries import visible_events_clause
from culprit.evidence.events.responses import to_datetime
from culprit.incidents.records.queries import visible_incidents_clause
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.evidence.reported_event import ReportedEvent as Event
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.integrations.grafana import queries

MAX_CAPTURES = 500
MAX_INCIDENTS = 200
MAX_EVENTS = 500
MAX_HOSTS = 8
ENDED = ("done", "partial", "failed")


class AnnotationBuilder:
    """Build annotations in one language, with links to one base URL, of objects visible to an actor (None: all)."""

    def __init__(self, session: Session, actor: Actor | None, locale: str, public_url: str) -> None:
        self.session = session
        self.actor = actor
        self.locale = locale
        self.address = public_url.rstrip("/")

    def captures(self, query: Select[Capture]) -> list[AnnotationContent]:
        """Return captures that have ended, from start to end."""
        query = query.where(Capture.state.in_(ENDED), Capture.ended_at.is_not(None))
        if self.actor is not None:
            query = query.where(visible_captures_clause(self.actor))
        rows = self.session.scalars(query.order_by(Capture.ended_at.desc()).limit(MAX_CAPTURES)).all()
        hosts = queries.load_capture_hosts(self.session, self.actor, [row.id for row in rows])
        return [self._build_capture(row, hosts[row.id]) for row in rows]

    def incidents(self, query: Select[Incident]) -> list[AnnotationContent]:
        """Return incidents with their likely and confirmed causes and their applied fixes."""
        if self.actor is not None:
            query = query.where(visible_incidents_clause(self.actor))
        rows = self.session.scalars(query.order_by(Incident.updated_at.desc()).limit(MAX_INCIDENTS)).all()
        ids = [row.id for row in rows]
        hosts = queries.load_incident_hosts(self.session, self.actor, ids)
        by_id = {row.id: row for row in rows}
        annotations = [self._build_incident(row, hosts[row.id]) for row in rows]
        for cause in queries.list_causes(self.session, ids):
            annotations.append(self._build_cause(by_id[cause.incident_id], cause, hosts[cause.incident_id]))
        for fix in queries.list_applied_fixes(self.session, ids):
            annotations.append(self._build_fix(by_id[fix.incident_id], fix, hosts[fix.incident_id]))
        return annotations

    def events(self, query: Select[Event]) -> list[AnnotationContent]:
        """Return reported events that are not withdrawn: deployments, configuration changes, notes."""
        query = query.where(Event.withdrawn_at.is_(None))
        if self.actor is not None:
            query = query.where(visible_events_clause(self.actor))
        rows = self.session.scalars(query.order_by(Event.t_ns.desc()).limit(MAX_EVENTS)).all()
        hosts = queries.load_event_hosts(self.session, self.actor, [row.id for row in rows])
        return [self._build_event(row, hosts[row.id]) for row in rows]

    def _build_capture(self, capture: Capture, hosts: Sequence[str]) -> AnnotationContent:
        params = {
            "number": capture.number,
            "plan": capture.plan,
            "hosts": _format_hosts(hosts),
            "state": capture.state,
        }
        return build_annotation(
            f"capture:{capture.id}",
            capture.created_at,
            capture.ended_at,
            render_message("annotation.capture", params, self.locale),
            f"{self.address}/captures/{capture.id}",
            ["capture", f"plan:{capture.plan}", f"state:{capture.state}", *_build_tags(hosts)],
        )

    def _build_incident(self, incident: Incident, hosts: Sequence[str]) -> AnnotationContent:
        params = {"number": incident.number, "title": incident.title, "hosts": _format_hosts(hosts)}
        return build_annotation(
            f"incident:{incident.id}",
            incident.window_from,
            _get_end(incident),
            render_message("annotation.incident", params, self.locale),
            self._build_address(incident),
            ["incident", f"severity:{incident.severity}", f"state:{incident.state}", *_build_tags(hosts)],
        )

    def _build_cause(self, incident: Incident, cause: Hypothesis, hosts: Sequence[str]) -> AnnotationContent:
        known = CAUSES.get(cause.cause)
        title = getattr(known.title, self.locale) if known else cause.summary.get(self.locale, cause.key)
        params = {"number": incident.number, "cause": title}
        return build_annotation(
            f"incident:{incident.id}:cause:{cause.id}",
            incident.window_from,
            _get_end(incident),
            render_message(f"annotation.cause_{cause.state}", params, self.locale),
            self._build_address(incident),
            [
                "cause",
                f"confidence:{cause.state}",
                *([f"cause:{cause.cause}"] if cause.cause else []),
                *_build_tags(hosts),
            ],
        )

    def _build_fix(self, incident: Incident, fix: Fix, hosts: Sequence[str]) -> AnnotationContent:
        assert fix.applied_at is not None
        params = {"number": incident.number, "what": fix.what}
        return build_annotation(
            f"incident:{incident.id}:fix:{fix.id}",
            fix.applied_at,
            None,
            render_message("annotation.fix", params, self.locale),
            self._build_address(incident) + "?pane=fixes",
            ["fix", f"state:{fix.state}", *_build_tags(hosts)],
        )

    def _build_event(self, event: Event, hosts: Sequence[str]) -> AnnotationContent:
        who = f" ({event.who})" if event.who else ""
        where = ["everywhere"] if event.everywhere else _build_tags(hosts)
        return build_annotation(
            f"event:{event.id}",
            to_datetime(event.t_ns),
            None if event.end_ns is None else to_datetime(event.end_ns),
            f"{event.what}{who}",
            event.link or self.address,
            [event.kind, "event", *where],
        )

    def _build_address(self, incident: Incident) -> str:
        return f"{self.address}/incidents/{incident.id}"


def _get_end(incident: Incident) -> datetime | None:
    return incident.window_to or incident.resolved_at


def _build_tags(hosts: Iterable[str]) -> list[str]:
    return [f"host:{name}" for name in list(hosts)[:MAX_HOSTS]]


def _format_hosts(hosts: Sequence[str]) -> str:
    more = f" +{len(hosts) - MAX_HOSTS}" if len(hosts) > MAX_HOSTS else ""
    return (", ".join(hosts[:MAX_HOSTS]) or "–") + more
