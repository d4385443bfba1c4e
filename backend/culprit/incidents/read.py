"""Incidents as they are sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.captures import beside
from culprit.incidents import books, queries, read_chain
from culprit.incidents.given import Symptom
from culprit.incidents.load import TIERS, Loaded, load
from culprit.incidents.read_chain import Names, person
from culprit.incidents.schemas import (
    AutopilotRead,
    FixRead,
    HostRead,
    IncidentRead,
    IncidentSummary,
    JournalRead,
    MayRead,
    OriginRead,
    PersonHere,
    PinRead,
    PlaybookRef,
    RunRead,
    VerificationRead,
    WindowRead,
    WrongRead,
)
from culprit.incidents.schemas_chain import CauseRead, NextRead, WaivedRead
from culprit.kit.clock import now
from culprit.models import Fix, Incident, IncidentOrigin, IncidentPlaybook, JournalEntry, Pin, Verification

#: Whoever looks on is heard of every few seconds.
HERE = timedelta(seconds=20)


def read(session: Session, actor: Actor, incident: Incident, made: UUID | None = None) -> IncidentRead:
    """All of an incident, as this actor may see it. `made` is what was made just now."""
    session.flush()
    loaded = load(session, actor, incident)
    people = queries.participants(session, incident.id)
    origin = queries.origin(session, incident.id)
    pilot = incident.autopilot or {}
    pilot_by = UUID(pilot["by"]) if pilot.get("by") else None
    names = queries.names(
        session,
        [
            incident.created_by,
            pilot_by,
            origin.imported_by if origin else None,
            *(one.user_id for one in people),
            *(one.by for one in loaded.verdicts),
            *(one.by for one in loaded.waivers.values()),
            *(one.by for one in loaded.outcomes),
            *(one.aside_by for one in loaded.playbooks),
            *(one.created_by for one in loaded.pins),
            *(one.created_by for one in loaded.fixes),
            *(one.requested_by for one in loaded.verifications),
        ],
    )
    at = now()
    return IncidentRead(
        id=incident.id,
        number=incident.number,
        title=incident.title,
        state=incident.state,
        severity=incident.severity,
        version=incident.version,
        created_by=person(incident.created_by, names),
        created_at=incident.created_at,
        updated_at=incident.updated_at,
        resolved_at=incident.resolved_at,
        symptom=Symptom(**incident.symptom),
        window=WindowRead(from_=incident.window_from, to=incident.window_to),
        hosts=[
            HostRead(
                id=host.id, name=host.name, scope=link.scope, role=link.role, enrolled=host.state == "active"
            )
            for link, host in loaded.hosts
        ],
        people=[
            PersonHere(id=one.user_id, name=names[one.user_id], here=at - one.seen_at < HERE)
            for one in people
        ],
        playbooks=[_playbook(loaded, one, names) for one in loaded.playbooks],
        hypotheses=read_chain.hypotheses(loaded),
        steps=read_chain.steps(loaded, names),
        gaps=loaded.gaps,
        leads_to=sorted({one.chain.leads_to for one in loaded.walks if one.chain.leads_to}),
        next=_following(session, loaded),
        causes=read_chain.causes(loaded),
        wrong=_wrong(loaded, names),
        fixes=_fixes(loaded, names),
        pins=[pin(one, names) for one in loaded.pins],
        runs=_runs(loaded),
        may=_may(actor),
        autopilot=AutopilotRead(**{**pilot, "by": person(pilot_by, names)}) if pilot else None,
        again=incident.state != "resolved" and any(one.state == "verified" for one in loaded.fixes),
        origin=_origin(origin, loaded, names) if origin else None,
        made=made,
    )


def _origin(one: IncidentOrigin, loaded: Loaded, names: Names) -> OriginRead:
    """Differences on hosts and runs that do not exist for the reader are counted, and not told."""
    same = ("culprit", "number", "redacted", "written_at", "imported_at", "said_by")
    compared = one.compared
    if compared is not None:
        seen = {"", *(str(host.id) for _, host in loaded.hosts), *(str(run.run_id) for run in loaded.runs)}
        compared = {**compared, "different": [each for each in compared["different"] if each["on"] in seen]}
    return OriginRead(
        **{name: getattr(one, name) for name in same},
        imported_by=person(one.imported_by, names),
        compared=compared,
    )


def _following(session: Session, loaded: Loaded) -> NextRead | None:
    found = loaded.next()
    host = next((one for _, one in loaded.hosts if found is not None and str(one.id) == found.host), None)
    return read_chain.following(loaded, found, beside.of_host(session, host) if host else None)


def _playbook(loaded: Loaded, one: IncidentPlaybook, names: Names) -> PlaybookRef:
    shipped = books.shipped(one.playbook_id)
    aside = None
    if one.aside_reason is not None:
        aside = WaivedRead(reason=one.aside_reason, by=person(one.aside_by, names))
    return PlaybookRef(
        id=one.playbook_id,
        digest=one.digest,
        title=one.content["title"],
        current=shipped is not None and shipped[2] == one.digest,
        play=loaded.plays[one.playbook_id],
        aside=aside,
    )


def _wrong(loaded: Loaded, names: Names) -> list[WrongRead]:
    same = ("cause", "true_cause", "note", "pins")
    return [
        WrongRead(**{name: getattr(one, name) for name in same}, by=person(one.by, names))
        for one in loaded.outcomes
        if not one.right
    ]


def _fixes(loaded: Loaded, names: Names) -> list[FixRead]:
    judged: dict[UUID, list[Verification]] = defaultdict(list)
    for one in loaded.verifications:
        judged[one.fix_id].append(one)
    seen = {host.id for _, host in loaded.hosts}
    return [fix(one, judged[one.id], seen, names) for one in loaded.fixes]


def fix(one: Fix, judged: Sequence[Verification], seen: set[UUID], names: Names) -> FixRead:
    """A fix with its verifications; of its hosts those that the reader may see."""
    same = (
        "id",
        "hypothesis_id",
        "card",
        "what",
        "command",
        "risk",
        "way_back",
        "applied_at",
        "state",
        "created_at",
    )
    return FixRead(
        **{name: getattr(one, name) for name in same},
        hosts=[host for host in map(UUID, one.hosts) if host in seen],
        by=person(one.created_by, names),
        verifications=[_verification(each, names) for each in judged],
    )


def _verification(one: Verification, names: Names) -> VerificationRead:
    return VerificationRead(
        **{name: getattr(one, name) for name in VerificationRead.model_fields if name != "requested_by"},
        requested_by=person(one.requested_by, names),
    )


def pin(one: Pin, names: Names) -> PinRead:
    """A pin."""
    same = ("id", "kind", "ref", "view", "said", "artifact", "step", "created_at")
    return PinRead(**{name: getattr(one, name) for name in same}, by=person(one.created_by, names))


def _runs(loaded: Loaded) -> list[RunRead]:
    same = ("run_id", "capture_id", "number", "host_id", "role", "step", "fix_id", "plan", "state")
    return [
        RunRead(
            **{name: getattr(one, name) for name in same},
            from_=_moment(one.t0_ns),
            to=_moment(one.t1_ns),
        )
        for one in loaded.runs
    ]


def _moment(ns: int | None) -> datetime | None:
    return datetime.fromtimestamp(ns / 1e9, UTC) if ns is not None else None


def _may(actor: Actor) -> MayRead:
    edit = allowed(actor, "incident.edit")
    tiers = [str(one) for one in (*TIERS, Tier.PTRACE) if allowed(actor, f"capture.{one}")]
    return MayRead(
        edit=edit,
        comment=allowed(actor, "incident.comment"),
        resolve=allowed(actor, "incident.resolve"),
        capture=edit and bool(tiers),
        tiers=tiers,
        mute=allowed(actor, "mute.manage"),
        autopilot=edit and bool(tiers),
        bundle=allowed(actor, "artifact.read"),
    )


def summaries(session: Session, actor: Actor, rows: Sequence[Incident]) -> list[IncidentSummary]:
    """Incidents in a list."""
    ids = [one.id for one in rows]
    hosts: dict[UUID, list[str]] = defaultdict(list)
    for row in queries.host_names(session, actor, ids):
        hosts[row.incident_id].append(row.name)
    causes: dict[UUID, list[CauseRead]] = defaultdict(list)
    for one in queries.decided(session, ids):
        causes[one.incident_id].append(CauseRead(hypothesis=one.key, cause=one.cause, confidence=one.state))
    fixes: dict[UUID, list[str]] = defaultdict(list)
    for row in queries.fix_states(session, ids):
        fixes[row.incident_id].append(row.state)
    people = queries.head_counts(session, ids)
    same = (
        "id",
        "number",
        "title",
        "state",
        "severity",
        "version",
        "created_at",
        "updated_at",
        "resolved_at",
    )
    return [
        IncidentSummary(
            **{name: getattr(one, name) for name in same},
            symptom=Symptom(**one.symptom),
            window=WindowRead(from_=one.window_from, to=one.window_to),
            hosts=hosts[one.id],
            people=people.get(one.id, 0),
            causes=causes[one.id],
            fixes=fixes[one.id],
        )
        for one in rows
    ]


def journal(
    session: Session, actor: Actor, incident: Incident, rows: Sequence[JournalEntry]
) -> list[JournalRead]:
    """What happened, without what happened on hosts that do not exist for this actor."""
    told: dict[UUID, Any] = {}
    if not actor.unrestricted:
        seen = {str(host.id) for _, host in queries.hosts(session, actor, incident.id)}
        rows = [one for one in rows if (one.params.get("host_id") or None) in {None, *seen}]
    told.update(queries.names(session, (one.by for one in rows)))
    same = ("id", "version", "kind", "params", "note", "at")
    return [
        JournalRead(**{name: getattr(one, name) for name in same}, by=person(one.by, told)) for one in rows
    ]
