"""Incidents as they are sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Text, Tier
from collectors.plans import tier_of
from collectors.registry import COLLECTORS
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.core.playbooks.contract import GATES
from culprit.core.playbooks.merge import HostAnswer, Next
from culprit.core.rules import form
from culprit.core.rules.registry import RULES
from culprit.incidents import books, queries
from culprit.incidents.collecting import collectors_of, seconds_of
from culprit.incidents.given import Symptom
from culprit.incidents.load import TIERS, Loaded, load
from culprit.incidents.schemas import (
    AutopilotRead,
    CauseRead,
    CommandRead,
    CostRead,
    FixRead,
    HostAnswerRead,
    HostRead,
    HypothesisRead,
    IncidentRead,
    IncidentSummary,
    JournalRead,
    MayRead,
    NextRead,
    PersonHere,
    PersonRef,
    PersonVerdictRead,
    PinRead,
    PlaybookRef,
    RunRead,
    StepRead,
    TextRead,
    VerificationRead,
    WaivedRead,
    WindowRead,
)
from culprit.kit.clock import now
from culprit.models import Fix, Incident, JournalEntry, Pin, Verification

Names = dict[UUID, str]
#: Whoever looks on is heard of every few seconds.
HERE = timedelta(seconds=20)
CONFIDENCE = ("likely", "confirmed")


def read(session: Session, actor: Actor, incident: Incident, made: UUID | None = None) -> IncidentRead:
    """All of an incident, as this actor may see it. `made` is what was made just now."""
    session.flush()
    loaded = load(session, actor, incident)
    people = queries.participants(session, incident.id)
    pilot = incident.autopilot or {}
    pilot_by = UUID(pilot["by"]) if pilot.get("by") else None
    names = queries.names(
        session,
        [
            incident.created_by,
            pilot_by,
            *(one.user_id for one in people),
            *(one.by for one in loaded.verdicts),
            *(one.by for one in loaded.waivers.values()),
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
        created_by=_person(incident.created_by, names),
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
        playbooks=[_playbook(one.playbook_id, one.digest, one.content["title"]) for one in loaded.playbooks],
        hypotheses=_hypotheses(loaded),
        steps=_steps(loaded, names),
        gaps=loaded.gaps,
        leads_to=sorted({one.chain.leads_to for one in loaded.walks if one.chain.leads_to}),
        next=_next(loaded, loaded.next()),
        causes=_causes(loaded),
        fixes=_fixes(loaded, names),
        pins=[pin(one, names) for one in loaded.pins],
        runs=_runs(loaded),
        may=_may(actor),
        autopilot=AutopilotRead(**{**pilot, "by": _person(pilot_by, names)}) if pilot else None,
        again=incident.state != "resolved" and any(one.state == "verified" for one in loaded.fixes),
        made=made,
    )


def _person(user_id: UUID | None, names: Names) -> PersonRef | None:
    return PersonRef(id=user_id, name=names[user_id]) if user_id in names and user_id else None


def _text(one: Text) -> TextRead:
    return TextRead(en=one.en, zh=one.zh)


def _playbook(playbook_id: str, digest: str, title: dict[str, str]) -> PlaybookRef:
    shipped = books.shipped(playbook_id)
    return PlaybookRef(
        id=playbook_id, digest=digest, title=title, current=shipped is not None and shipped[2] == digest
    )


def _hypotheses(loaded: Loaded) -> list[HypothesisRead]:
    found = []
    for one in loaded.hypotheses:
        stand = loaded.stand(one.key)
        found.append(
            HypothesisRead(
                id=one.id,
                key=one.key,
                says=one.says,
                cause=one.cause,
                state=one.state,
                standing=stand.standing,
                grade=str(stand.grade),
                primary=one.primary,
                supports=list(stand.supports),
                refutes=list(stand.refutes),
            )
        )
    return found


def _steps(loaded: Loaded, names: Names) -> list[StepRead]:
    return [
        StepRead(
            key=key,
            playbook=walked.playbook.id,
            step=step.id,
            asks=_text(step.asks),
            look=_text(step.look) if step.look else None,
            about=step.about if step.about in GATES else walked.key(step.about),
            finding=step.finding,
            on_path=step.id in walked.chain.path,
            verdict=walked.chain.answers[step.id].verdict,
            waived=_waived(loaded, key, names),
            hosts=[_answer(loaded, one, names) for one in walked.hosts[step.id]],
        )
        for walked in loaded.walks
        for step in walked.playbook.steps
        for key in [walked.key(step.id)]
    ]


def _waived(loaded: Loaded, key: str, names: Names) -> WaivedRead | None:
    one = loaded.waivers.get(key)
    return WaivedRead(reason=one.reason, by=_person(one.by, names)) if one else None


def _answer(loaded: Loaded, one: HostAnswer, names: Names) -> HostAnswerRead:
    person = None
    if one.person is not None:
        row = next(each for each in loaded.verdicts if str(each.id) == one.person.id)
        person = PersonVerdictRead(
            id=row.id,
            verdict=row.verdict,
            by=_person(row.by, names),
            note=row.note,
            at=row.created_at,
            pins=list(loaded.cited.get(row.id, ())),
        )
    return HostAnswerRead(
        host_id=UUID(one.host),
        run_id=UUID(one.run) if one.run else None,
        verdict=one.answer.verdict,
        by=one.answer.by,
        rule_verdict=one.rule.verdict,
        person=person,
        grade=str(one.answer.grade),
        reason=form.sentence(one.answer.reason),
        findings=[form.finding(each) for each in one.rule.findings],
        muted=[form.finding(each) for each in one.muted],
        pins=person.pins if person else [],
        disagrees=one.disagrees,
    )


def _next(loaded: Loaded, found: Next | None) -> NextRead | None:
    if found is None:
        return None
    step = next(
        walked.playbook.step(found.proposal.step)
        for walked in loaded.walks
        if walked.playbook.id == found.playbook
    )
    names = collectors_of(RULES[step.finding], loaded.tried.get(found.host, ())) if step.finding else []
    seconds = {name: seconds_of(name) for name in names}
    size = sum(COLLECTORS[name].cost.bytes_per_s * seconds[name] for name in names)
    return NextRead(
        step=f"{found.playbook}/{step.id}",
        host_id=UUID(found.host),
        collectors=names,
        tier=str(tier_of(names)),
        cost=CostRead(
            cpu_pct=round(sum(COLLECTORS[name].cost.cpu_pct for name in names), 2),
            seconds=max(seconds.values(), default=0),
            bytes=round(size) or None,
        ),
        commands=[
            CommandRead(
                collector=name, text=COLLECTORS[name].ways[0].shows.replace("{seconds}", str(seconds[name]))
            )
            for name in names
        ],
        why={"key": found.proposal.why.key, "params": dict(found.proposal.why.params)},
    )


def _causes(loaded: Loaded) -> list[CauseRead]:
    """What people decided; the confirmed ones first."""
    found = [one for one in loaded.hypotheses if one.state in CONFIDENCE]
    return [
        CauseRead(hypothesis=one.key, cause=one.cause, confidence=one.state)
        for one in sorted(found, key=lambda one: one.state != "confirmed")
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
        by=_person(one.created_by, names),
        verifications=[_verification(each, names) for each in judged],
    )


def _verification(one: Verification, names: Names) -> VerificationRead:
    return VerificationRead(
        **{name: getattr(one, name) for name in VerificationRead.model_fields if name != "requested_by"},
        requested_by=_person(one.requested_by, names),
    )


def pin(one: Pin, names: Names) -> PinRead:
    """A pin."""
    same = ("id", "kind", "ref", "view", "said", "artifact", "step", "created_at")
    return PinRead(**{name: getattr(one, name) for name in same}, by=_person(one.created_by, names))


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
        rows = [one for one in rows if one.params.get("host_id") in {None, *seen}]
    told.update(queries.names(session, (one.by for one in rows)))
    same = ("id", "version", "kind", "params", "note", "at")
    return [
        JournalRead(**{name: getattr(one, name) for name in same}, by=_person(one.by, told)) for one in rows
    ]
