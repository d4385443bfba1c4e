"""Every SELECT about incidents. One incident takes the same number of them whatever its size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select, true
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import hidden, visible, visible_runs
from culprit.models import (
    Artifact,
    Capture,
    CauseOutcome,
    Finding,
    FindingMute,
    Fix,
    Host,
    Hypothesis,
    Incident,
    IncidentHost,
    IncidentOrigin,
    IncidentParticipant,
    IncidentPlaybook,
    IncidentRun,
    JournalEntry,
    Pin,
    ResultTable,
    Run,
    RunCollector,
    StepVerdict,
    StepWaiver,
    UserAccount,
    VerdictPin,
    Verification,
)

Rows = Sequence[Row[*tuple[Any, ...]]]


def visible_incidents(actor: Actor) -> ColumnElement[bool]:
    """The incidents that exist for this actor: with a host that does, or without hosts and of their own making."""
    if actor.unrestricted:
        return true()
    with_host = select(IncidentHost.incident_id).join(Host, Host.id == IncidentHost.host_id)
    any_host = select(IncidentHost.incident_id)
    return or_(
        Incident.id.in_(with_host.where(visible(actor))),
        and_(Incident.created_by == actor.id, Incident.id.not_in(any_host)),
    )


def incidents(actor: Actor, states: Collection[str] = (), host: UUID | None = None) -> Select[Incident]:
    """The incidents that exist for this actor."""
    query = select(Incident).where(visible_incidents(actor))
    if states:
        query = query.where(Incident.state.in_(states))
    if host is not None:
        query = query.where(
            Incident.id.in_(select(IncidentHost.incident_id).where(IncidentHost.host_id == host))
        )
    return query


def select_visible_ids(actor: Actor) -> Select[UUID]:
    """Select the ids of the incidents that exist for this actor."""
    return select(Incident.id).where(visible_incidents(actor))


def incident(session: Session, actor: Actor, incident_id: UUID, *, lock: bool = False) -> Incident | None:
    """One, where it exists for this actor; locked until the end of the transaction where that is asked for."""
    query = incidents(actor).where(Incident.id == incident_id)
    if lock:
        query = query.with_for_update(of=Incident, key_share=True).execution_options(populate_existing=True)
    return session.scalar(query)


def origin(session: Session, incident_id: UUID) -> IncidentOrigin | None:
    """Where an imported incident is from; None for one that was opened here."""
    return session.get(IncidentOrigin, incident_id)


def hosts(session: Session, actor: Actor | None, incident_id: UUID) -> list[tuple[IncidentHost, Host]]:
    """The hosts of an incident that exist for this actor (for Culprit itself: all), by name."""
    query = (
        select(IncidentHost, Host)
        .join(Host, Host.id == IncidentHost.host_id)
        .where(IncidentHost.incident_id == incident_id, true() if actor is None else visible(actor))
        .order_by(Host.name, Host.id)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def has_hidden_host(session: Session, actor: Actor, incident_id: UUID) -> bool:
    """Return whether an incident has a host that does not exist for this actor."""
    if actor.unrestricted:
        return False
    found = (
        select(IncidentHost.host_id)
        .join(Host, Host.id == IncidentHost.host_id)
        .where(IncidentHost.incident_id == incident_id, hidden(actor))
    )
    return session.scalars(found.limit(1)).first() is not None


def visible_hosts(session: Session, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, Host]:
    """The hosts among these that exist for this actor, whatever their state."""
    found = session.scalars(select(Host).where(Host.id.in_(list(ids)), visible(actor)))
    return {host.id: host for host in found}


def playbooks(session: Session, incident_id: UUID) -> Sequence[IncidentPlaybook]:
    """The playbooks of an incident in their order."""
    query = select(IncidentPlaybook).where(IncidentPlaybook.incident_id == incident_id)
    return session.scalars(query.order_by(IncidentPlaybook.position, IncidentPlaybook.playbook_id)).all()


def hypotheses(session: Session, incident_id: UUID) -> Sequence[Hypothesis]:
    """The hypotheses of an incident, the oldest first."""
    query = select(Hypothesis).where(Hypothesis.incident_id == incident_id).order_by(Hypothesis.id)
    return session.scalars(query).all()


def verdicts(session: Session, incident_id: UUID) -> Sequence[StepVerdict]:
    """What people said and did not withdraw, the oldest first."""
    query = select(StepVerdict).where(
        StepVerdict.incident_id == incident_id, StepVerdict.withdrawn_at.is_(None)
    )
    return session.scalars(query.order_by(StepVerdict.id)).all()


def cited(session: Session, incident_id: UUID) -> Rows:
    """(verdict_id, pin_id) of all verdicts of an incident."""
    query = (
        select(VerdictPin.verdict_id, VerdictPin.pin_id)
        .join(StepVerdict, StepVerdict.id == VerdictPin.verdict_id)
        .where(StepVerdict.incident_id == incident_id)
        .order_by(VerdictPin.pin_id)
    )
    return session.execute(query).all()


def pins(session: Session, incident_id: UUID) -> Sequence[Pin]:
    """The pins of an incident, the oldest first."""
    return session.scalars(select(Pin).where(Pin.incident_id == incident_id).order_by(Pin.id)).all()


def waivers(session: Session, incident_id: UUID) -> Sequence[StepWaiver]:
    """The waived steps of an incident."""
    return session.scalars(select(StepWaiver).where(StepWaiver.incident_id == incident_id)).all()


def fixes(session: Session, incident_id: UUID) -> Sequence[Fix]:
    """The fixes of an incident, the oldest first."""
    return session.scalars(select(Fix).where(Fix.incident_id == incident_id).order_by(Fix.id)).all()


def verifications(session: Session, incident_id: UUID) -> Sequence[Verification]:
    """The verifications of the fixes of an incident, the oldest first."""
    query = (
        select(Verification)
        .join(Fix, Fix.id == Verification.fix_id)
        .where(Fix.incident_id == incident_id)
        .order_by(Verification.id)
    )
    return session.scalars(query).all()


def runs(session: Session, incident_id: UUID) -> Rows:
    """The runs of an incident with their captures, the newest measured first."""
    query = (
        select(
            IncidentRun.run_id,
            IncidentRun.role,
            IncidentRun.step,
            IncidentRun.fix_id,
            Run.host_id,
            Run.state,
            Run.t0_ns,
            Run.t1_ns,
            Run.capture_id,
            Capture.number,
            Capture.plan,
        )
        .join(Run, Run.id == IncidentRun.run_id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(IncidentRun.incident_id == incident_id)
        .order_by(Run.t0_ns.desc().nulls_last(), Run.id.desc())
    )
    return session.execute(query).all()


def fired(session: Session, run_ids: Collection[UUID]) -> Sequence[Finding]:
    """Everything that fired on these runs, by whatever rule."""
    query = select(Finding).where(Finding.run_id.in_(run_ids), Finding.state == "fired").order_by(Finding.id)
    return session.scalars(query).all()


def tables(session: Session, run_ids: Collection[UUID], kinds: Collection[str]) -> Sequence[ResultTable]:
    """The tables of these kinds that these runs brought home."""
    query = select(ResultTable).where(ResultTable.run_id.in_(run_ids), ResultTable.kind.in_(kinds))
    return session.scalars(query.order_by(ResultTable.id)).all()


def tried(session: Session, run_ids: Collection[UUID]) -> Rows:
    """(host_id, collector) of everything that these runs asked for, whatever became of it."""
    query = (
        select(Run.host_id, RunCollector.collector)
        .join(Run, Run.id == RunCollector.run_id)
        .where(Run.id.in_(run_ids))
        .distinct()
    )
    return session.execute(query).all()


def active_mutes(session: Session, host_ids: Collection[UUID], at: datetime) -> Rows:
    """(host_id, rule) that are muted now."""
    query = select(FindingMute.host_id, FindingMute.rule).where(
        FindingMute.host_id.in_(host_ids), FindingMute.expires_at > at
    )
    return session.execute(query.distinct()).all()


def participants(session: Session, incident_id: UUID) -> Sequence[IncidentParticipant]:
    """Who takes part, in the order of joining."""
    query = select(IncidentParticipant).where(IncidentParticipant.incident_id == incident_id)
    return session.scalars(query.order_by(IncidentParticipant.joined_at)).all()


def names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of people."""
    wanted = {one for one in ids if one is not None}
    if not wanted:
        return {}
    found = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(wanted)))
    return {row.id: row.name for row in found}


def journal(session: Session, incident_id: UUID, after: int = 0, limit: int = 1000) -> Sequence[JournalEntry]:
    """What happened after that version, the oldest first."""
    query = select(JournalEntry).where(JournalEntry.incident_id == incident_id, JournalEntry.version > after)
    return session.scalars(query.order_by(JournalEntry.version, JournalEntry.id).limit(limit)).all()


def visible_run_ids(session: Session, actor: Actor, ids: Collection[UUID]) -> dict[UUID, UUID | None]:
    """The runs among these that exist for this actor, with their hosts."""
    query = select(Run.id, Run.host_id).where(Run.id.in_(ids), visible_runs(actor))
    return {row.id: row.host_id for row in session.execute(query)}


def artifacts(session: Session, run_ids: Collection[UUID]) -> Rows:
    """(artifact, collector) of these runs."""
    query = (
        select(Artifact, RunCollector.collector)
        .outerjoin(RunCollector, RunCollector.id == Artifact.run_collector_id)
        .where(Artifact.run_id.in_(run_ids))
        .order_by(Artifact.id)
    )
    return session.execute(query).all()


def outcomes(session: Session, incident_id: UUID) -> Sequence[CauseOutcome]:
    """How the causes of an incident turned out."""
    query = select(CauseOutcome).where(CauseOutcome.incident_id == incident_id).order_by(CauseOutcome.id)
    return session.scalars(query).all()


def host_names(session: Session, actor: Actor, incident_ids: Collection[UUID]) -> Rows:
    """(incident_id, name) of the hosts of incidents that exist for this actor."""
    query = (
        select(IncidentHost.incident_id, Host.name)
        .join(Host, Host.id == IncidentHost.host_id)
        .where(IncidentHost.incident_id.in_(incident_ids), visible(actor))
        .order_by(Host.name)
    )
    return session.execute(query).all()


def head_counts(session: Session, incident_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many people take part in each."""
    query = (
        select(IncidentParticipant.incident_id, func.count())
        .where(IncidentParticipant.incident_id.in_(incident_ids))
        .group_by(IncidentParticipant.incident_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def decided(session: Session, incident_ids: Collection[UUID]) -> Sequence[Hypothesis]:
    """The hypotheses of incidents that are likely or confirmed."""
    query = select(Hypothesis).where(
        Hypothesis.incident_id.in_(incident_ids), Hypothesis.state.in_(("likely", "confirmed"))
    )
    return session.scalars(query.order_by(Hypothesis.id)).all()


def fix_states(session: Session, incident_ids: Collection[UUID]) -> Rows:
    """(incident_id, state) of the fixes of incidents."""
    query = select(Fix.incident_id, Fix.state).where(Fix.incident_id.in_(incident_ids))
    return session.execute(query.order_by(Fix.id)).all()
