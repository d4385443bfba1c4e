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

MOST_CAPTURES = 500
MOST_INCIDENTS = 200
MOST_EVENTS = 500
MOST_HOSTS = 8
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
        rows = self.session.scalars(query.order_by(Capture.ended_at.desc()).limit(MOST_CAPTURES)).all()
        hosts = queries.load_capture_hosts(self.session, self.actor, [row.id for row in rows])
        return [self._capture(row, hosts[row.id]) for row in rows]

    def incidents(self, query: Select[Incident]) -> list[AnnotationContent]:
        """Return incidents with their likely and confirmed causes and their applied fixes."""
        if self.actor is not None:
            query = query.where(visible_incidents_clause(self.actor))
        rows = self.session.scalars(query.order_by(Incident.updated_at.desc()).limit(MOST_INCIDENTS)).all()
        ids = [row.id for row in rows]
        hosts = queries.load_incident_hosts(self.session, self.actor, ids)
        by_id = {row.id: row for row in rows}
        annotations = [self._incident(row, hosts[row.id]) for row in rows]
        for cause in queries.list_causes(self.session, ids):
            annotations.append(self._cause(by_id[cause.incident_id], cause, hosts[cause.incident_id]))
        for fix in queries.list_applied_fixes(self.session, ids):
            annotations.append(self._fix(by_id[fix.incident_id], fix, hosts[fix.incident_id]))
        return annotations

    def events(self, query: Select[Event]) -> list[AnnotationContent]:
        """Return reported events that are not withdrawn: deployments, configuration changes, notes."""
        query = query.where(Event.withdrawn_at.is_(None))
        if self.actor is not None:
            query = query.where(visible_events_clause(self.actor))
        rows = self.session.scalars(query.order_by(Event.t_ns.desc()).limit(MOST_EVENTS)).all()
        hosts = queries.load_event_hosts(self.session, self.actor, [row.id for row in rows])
        return [self._event(row, hosts[row.id]) for row in rows]

    def _capture(self, capture: Capture, hosts: Sequence[str]) -> AnnotationContent:
        params = {
            "number": capture.number,
            "plan": capture.plan,
            "hosts": _some(hosts),
            "state": capture.state,
        }
        return build_annotation(
            f"capture:{capture.id}",
            capture.created_at,
            capture.ended_at,
            render_message("annotation.capture", params, self.locale),
            f"{self.address}/captures/{capture.id}",
            ["capture", f"plan:{capture.plan}", f"state:{capture.state}", *_tags(hosts)],
        )

    def _incident(self, incident: Incident, hosts: Sequence[str]) -> AnnotationContent:
        params = {"number": incident.number, "title": incident.title, "hosts": _some(hosts)}
        return build_annotation(
            f"incident:{incident.id}",
            incident.window_from,
            _over(incident),
            render_message("annotation.incident", params, self.locale),
            self._at(incident),
            ["incident", f"severity:{incident.severity}", f"state:{incident.state}", *_tags(hosts)],
        )

    def _cause(self, incident: Incident, cause: Hypothesis, hosts: Sequence[str]) -> AnnotationContent:
        known = CAUSES.get(cause.cause)
        title = getattr(known.title, self.locale) if known else cause.summary.get(self.locale, cause.key)
        params = {"number": incident.number, "cause": title}
        return build_annotation(
            f"incident:{incident.id}:cause:{cause.id}",
            incident.window_from,
            _over(incident),
            render_message(f"annotation.cause_{cause.state}", params, self.locale),
            self._at(incident),
            [
                "cause",
                f"confidence:{cause.state}",
                *([f"cause:{cause.cause}"] if cause.cause else []),
                *_tags(hosts),
            ],
        )

    def _fix(self, incident: Incident, fix: Fix, hosts: Sequence[str]) -> AnnotationContent:
        assert fix.applied_at is not None
        params = {"number": incident.number, "what": fix.what}
        return build_annotation(
            f"incident:{incident.id}:fix:{fix.id}",
            fix.applied_at,
            None,
            render_message("annotation.fix", params, self.locale),
            self._at(incident) + "?pane=fixes",
            ["fix", f"state:{fix.state}", *_tags(hosts)],
        )

    def _event(self, event: Event, hosts: Sequence[str]) -> AnnotationContent:
        who = f" ({event.who})" if event.who else ""
        where = ["everywhere"] if event.everywhere else _tags(hosts)
        return build_annotation(
            f"event:{event.id}",
            to_datetime(event.t_ns),
            None if event.end_ns is None else to_datetime(event.end_ns),
            f"{event.what}{who}",
            event.link or self.address,
            [event.kind, "event", *where],
        )

    def _at(self, incident: Incident) -> str:
        return f"{self.address}/incidents/{incident.id}"


def _over(incident: Incident) -> datetime | None:
    return incident.window_to or incident.resolved_at


def _tags(hosts: Iterable[str]) -> list[str]:
    return [f"host:{name}" for name in list(hosts)[:MOST_HOSTS]]


def _some(hosts: Sequence[str]) -> str:
    more = f" +{len(hosts) - MOST_HOSTS}" if len(hosts) > MOST_HOSTS else ""
    return (", ".join(hosts[:MOST_HOSTS]) or "–") + more
