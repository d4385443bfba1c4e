"""What annotations there should be: captures, incidents with causes and fixes, and told events such as deploys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.annotations.queries import seen
from culprit.annotations.read import moment
from culprit.auth.actor import Actor
from culprit.auth.policy import visible, visible_captures
from culprit.core.annotations import Annotation, made
from culprit.core.rules.registry import CAUSES
from culprit.incidents.queries import visible_incidents
from culprit.kit.sentences import say
from culprit.models import Annotation as Event
from culprit.models import AnnotationHost, Capture, Fix, Host, Hypothesis, Incident, IncidentHost, Run

MOST_CAPTURES = 500
MOST_INCIDENTS = 200
MOST_EVENTS = 500
MOST_HOSTS = 8
ENDED = ("done", "partial", "failed")
Hosts = dict[UUID, list[str]]


class Teller:
    """Tells in one language, with links to one address, what exists for one person (None: everything)."""

    def __init__(self, session: Session, actor: Actor | None, locale: str, public_url: str) -> None:
        self.session = session
        self.actor = actor
        self.locale = locale
        self.address = public_url.rstrip("/")

    def captures(self, query: Select[Capture]) -> list[Annotation]:
        """Captures that have ended, from their beginning to their end."""
        query = query.where(Capture.state.in_(ENDED), Capture.ended_at.is_not(None))
        if self.actor is not None:
            query = query.where(visible_captures(self.actor))
        rows = self.session.scalars(query.order_by(Capture.ended_at.desc()).limit(MOST_CAPTURES)).all()
        hosts = self._hosts_of(select(Run.capture_id, Host.name).join(Host, Host.id == Run.host_id)
                               .where(Run.capture_id.in_([one.id for one in rows])))  # fmt: skip
        return [self._capture(one, hosts[one.id]) for one in rows]

    def incidents(self, query: Select[Incident]) -> list[Annotation]:
        """Incidents with their likely and confirmed causes and their applied fixes."""
        if self.actor is not None:
            query = query.where(visible_incidents(self.actor))
        rows = self.session.scalars(query.order_by(Incident.updated_at.desc()).limit(MOST_INCIDENTS)).all()
        ids = [one.id for one in rows]
        hosts = self._hosts_of(
            select(IncidentHost.incident_id, Host.name)
            .join(Host, Host.id == IncidentHost.host_id)
            .where(IncidentHost.incident_id.in_(ids))
        )
        by_id = {one.id: one for one in rows}
        found = [self._incident(one, hosts[one.id]) for one in rows]
        decided = select(Hypothesis).where(
            Hypothesis.incident_id.in_(ids), Hypothesis.state.in_(("likely", "confirmed"))
        )
        for cause in self.session.scalars(decided.order_by(Hypothesis.id)):
            found.append(self._cause(by_id[cause.incident_id], cause, hosts[cause.incident_id]))
        applied = select(Fix).where(Fix.incident_id.in_(ids), Fix.applied_at.is_not(None))
        for fix in self.session.scalars(applied.order_by(Fix.id)):
            found.append(self._fix(by_id[fix.incident_id], fix, hosts[fix.incident_id]))
        return found

    def events(self, query: Select[Event]) -> list[Annotation]:
        """What was told from outside and not withdrawn: deploys, changes of configuration, notes."""
        query = query.where(Event.withdrawn_at.is_(None))
        if self.actor is not None:
            query = query.where(seen(self.actor))
        rows = self.session.scalars(query.order_by(Event.t_ns.desc()).limit(MOST_EVENTS)).all()
        named = select(AnnotationHost.annotation_id, Host.name).join(Host, Host.id == AnnotationHost.host_id)
        hosts = self._hosts_of(named.where(AnnotationHost.annotation_id.in_([one.id for one in rows])))
        return [self._event(one, hosts[one.id]) for one in rows]

    def _hosts_of(self, query: Select[UUID, str]) -> Hosts:
        if self.actor is not None:
            query = query.where(visible(self.actor))
        found: Hosts = defaultdict(list)
        for key, name in self.session.execute(query.order_by(Host.name)):
            found[key].append(name)
        return found

    def _capture(self, one: Capture, hosts: Sequence[str]) -> Annotation:
        params = {"number": one.number, "plan": one.plan, "hosts": _some(hosts), "state": one.state}
        return made(
            f"capture:{one.id}",
            one.created_at,
            one.ended_at,
            say("annotation.capture", params, self.locale),
            f"{self.address}/captures/{one.id}",
            ["capture", f"plan:{one.plan}", f"state:{one.state}", *_tags(hosts)],
        )

    def _incident(self, one: Incident, hosts: Sequence[str]) -> Annotation:
        params = {"number": one.number, "title": one.title, "hosts": _some(hosts)}
        return made(
            f"incident:{one.id}",
            one.window_from,
            _over(one),
            say("annotation.incident", params, self.locale),
            self._at(one),
            ["incident", f"severity:{one.severity}", f"state:{one.state}", *_tags(hosts)],
        )

    def _cause(self, one: Incident, cause: Hypothesis, hosts: Sequence[str]) -> Annotation:
        known = CAUSES.get(cause.cause)
        title = getattr(known.title, self.locale) if known else cause.says.get(self.locale, cause.key)
        params = {"number": one.number, "cause": title}
        return made(
            f"incident:{one.id}:cause:{cause.id}",
            one.window_from,
            _over(one),
            say(f"annotation.cause_{cause.state}", params, self.locale),
            self._at(one),
            [
                "cause",
                f"confidence:{cause.state}",
                *([f"cause:{cause.cause}"] if cause.cause else []),
                *_tags(hosts),
            ],
        )

    def _fix(self, one: Incident, fix: Fix, hosts: Sequence[str]) -> Annotation:
        assert fix.applied_at is not None
        params = {"number": one.number, "what": fix.what}
        return made(
            f"incident:{one.id}:fix:{fix.id}",
            fix.applied_at,
            None,
            say("annotation.fix", params, self.locale),
            self._at(one) + "?pane=fixes",
            ["fix", f"state:{fix.state}", *_tags(hosts)],
        )

    def _event(self, one: Event, hosts: Sequence[str]) -> Annotation:
        who = f" ({one.who})" if one.who else ""
        where = ["everywhere"] if one.everywhere else _tags(hosts)
        return made(
            f"event:{one.id}",
            moment(one.t_ns),
            None if one.end_ns is None else moment(one.end_ns),
            f"{one.what}{who}",
            one.link or self.address,
            [one.kind, "event", *where],
        )

    def _at(self, one: Incident) -> str:
        return f"{self.address}/incidents/{one.id}"


def _over(one: Incident) -> datetime | None:
    return one.window_to or one.resolved_at


def _tags(hosts: Iterable[str]) -> list[str]:
    return [f"host:{name}" for name in list(hosts)[:MOST_HOSTS]]


def _some(hosts: Sequence[str]) -> str:
    more = f" +{len(hosts) - MOST_HOSTS}" if len(hosts) > MOST_HOSTS else ""
    return (", ".join(hosts[:MOST_HOSTS]) or "–") + more
