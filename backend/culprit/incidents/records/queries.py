"""Queries about incidents. Loading an incident takes the same number of queries at any size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select, true
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import hidden_hosts_clause, visible_hosts_clause, visible_runs_clause
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.analysis.finding_mute import FindingMute
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_origin import IncidentOrigin
from culprit.infra.models.incidents.incident_participant import IncidentParticipant
from culprit.infra.models.incidents.incident_playbook import IncidentPlaybook
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.step_verdict import StepVerdict
from culprit.infra.models.incidents.step_waiver import StepWaiver
from culprit.infra.models.incidents.verdict_pin import VerdictPin
from culprit.infra.models.incidents.verification import Verification
from culprit.json_types import Json

Rows = Sequence[Row[*tuple[Any, ...]]]


def visible_incidents_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition for visible incidents: with a visible host, or without hosts and created by the actor."""
    if actor.unrestricted:
        return true()
    with_host = select(IncidentHost.incident_id).join(Host, Host.id == IncidentHost.host_id)
    any_host = select(IncidentHost.incident_id)
    return or_(
        Incident.id.in_(with_host.where(visible_hosts_clause(actor))),
        and_(Incident.created_by == actor.id, Incident.id.not_in(any_host)),
    )


def select_incidents(
    actor: Actor, states: Collection[str] = (), host: UUID | None = None
) -> Select[Incident]:
    """Select the incidents that are visible to this actor."""
    query = select(Incident).where(visible_incidents_clause(actor))
    if states:
        query = query.where(Incident.state.in_(states))
    if host is not None:
        query = query.where(
            Incident.id.in_(select(IncidentHost.incident_id).where(IncidentHost.host_id == host))
        )
    return query


def select_visible_ids(actor: Actor) -> Select[UUID]:
    """Select the IDs of the incidents that are visible to this actor."""
    return select(Incident.id).where(visible_incidents_clause(actor))


def find_incident(
    session: Session, actor: Actor, incident_id: UUID, *, lock: bool = False
) -> Incident | None:
    """Return a visible incident or None; `lock`: lock it until the end of the transaction."""
    query = select_incidents(actor).where(Incident.id == incident_id)
    if lock:
        query = query.with_for_update(of=Incident, key_share=True).execution_options(populate_existing=True)
    return session.scalar(query)


def find_origin(session: Session, incident_id: UUID) -> IncidentOrigin | None:
    """Return the origin of an imported incident, or None."""
    return session.get(IncidentOrigin, incident_id)


def list_hosts(session: Session, actor: Actor | None, incident_id: UUID) -> list[tuple[IncidentHost, Host]]:
    """List the hosts of an incident that are visible to this actor (None: all), by name."""
    query = (
        select(IncidentHost, Host)
        .join(Host, Host.id == IncidentHost.host_id)
        .where(
            IncidentHost.incident_id == incident_id, true() if actor is None else visible_hosts_clause(actor)
        )
        .order_by(Host.name, Host.id)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def has_hidden_host(session: Session, actor: Actor, incident_id: UUID) -> bool:
    """Return whether an incident has a host that is not visible to this actor."""
    if actor.unrestricted:
        return False
    result = (
        select(IncidentHost.host_id)
        .join(Host, Host.id == IncidentHost.host_id)
        .where(IncidentHost.incident_id == incident_id, hidden_hosts_clause(actor))
    )
    return session.scalars(result.limit(1)).first() is not None


def find_visible_hosts(session: Session, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, Host]:
    """Return those of these hosts that are visible to this actor, in any state."""
    hosts = session.scalars(select(Host).where(Host.id.in_(list(ids)), visible_hosts_clause(actor)))
    return {host.id: host for host in hosts}


def list_playbooks(session: Session, incident_id: UUID) -> Sequence[IncidentPlaybook]:
    """List the playbooks of an incident in their order."""
    query = select(IncidentPlaybook).where(IncidentPlaybook.incident_id == incident_id)
    return session.scalars(query.order_by(IncidentPlaybook.position, IncidentPlaybook.playbook_id)).all()


def list_hypotheses(session: Session, incident_id: UUID) -> Sequence[Hypothesis]:
    """List the hypotheses of an incident, the oldest first."""
    query = select(Hypothesis).where(Hypothesis.incident_id == incident_id).order_by(Hypothesis.id)
    return session.scalars(query).all()


def list_verdicts(session: Session, incident_id: UUID) -> Sequence[StepVerdict]:
    """List the verdicts of users without withdrawn ones, the oldest first."""
    query = select(StepVerdict).where(
        StepVerdict.incident_id == incident_id, StepVerdict.withdrawn_at.is_(None)
    )
    return session.scalars(query.order_by(StepVerdict.id)).all()


def list_verdict_pins(session: Session, incident_id: UUID) -> Rows:
    """List (verdict_id, pin_id) of all verdicts of an incident."""
    query = (
        select(VerdictPin.verdict_id, VerdictPin.pin_id)
        .join(StepVerdict, StepVerdict.id == VerdictPin.verdict_id)
        .where(StepVerdict.incident_id == incident_id)
        .order_by(VerdictPin.pin_id)
    )
    return session.execute(query).all()


def list_pins(session: Session, incident_id: UUID) -> Sequence[Pin]:
    """List the pins of an incident, the oldest first."""
    return session.scalars(select(Pin).where(Pin.incident_id == incident_id).order_by(Pin.id)).all()


def list_waivers(session: Session, incident_id: UUID) -> Sequence[StepWaiver]:
    """List the waivers of an incident."""
    return session.scalars(select(StepWaiver).where(StepWaiver.incident_id == incident_id)).all()


def list_fixes(session: Session, incident_id: UUID) -> Sequence[Fix]:
    """List the fixes of an incident, the oldest first."""
    return session.scalars(select(Fix).where(Fix.incident_id == incident_id).order_by(Fix.id)).all()


def list_verifications(session: Session, incident_id: UUID) -> Sequence[Verification]:
    """List the verifications of the fixes of an incident, the oldest first."""
    query = (
        select(Verification)
        .join(Fix, Fix.id == Verification.fix_id)
        .where(Fix.incident_id == incident_id)
        .order_by(Verification.id)
    )
    return session.scalars(query).all()


def list_runs(session: Session, incident_id: UUID) -> Rows:
    """List the runs of an incident with their captures, the last measured first."""
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


def list_matched_findings(session: Session, run_ids: Collection[UUID]) -> Sequence[StoredFinding]:
    """List the matched findings of these runs, of all rules."""
    query = (
        select(StoredFinding)
        .where(StoredFinding.run_id.in_(run_ids), StoredFinding.state == "matched")
        .order_by(StoredFinding.id)
    )
    return session.scalars(query).all()


def list_tables(session: Session, run_ids: Collection[UUID], kinds: Collection[str]) -> Sequence[ResultTable]:
    """List the tables of these kinds from these runs."""
    query = select(ResultTable).where(ResultTable.run_id.in_(run_ids), ResultTable.kind.in_(kinds))
    return session.scalars(query.order_by(ResultTable.id)).all()


def list_tried_collectors(session: Session, run_ids: Collection[UUID]) -> Rows:
    """List (host_id, collector) of all collectors of these runs, in any state."""
    query = (
        select(Run.host_id, RunCollector.collector)
        .join(Run, Run.id == RunCollector.run_id)
        .where(Run.id.in_(run_ids))
        .distinct()
    )
    return session.execute(query).all()


def list_active_mutes(session: Session, host_ids: Collection[UUID], at: datetime) -> Rows:
    """List (host_id, rule) of the active mutes."""
    query = select(FindingMute.host_id, FindingMute.rule).where(
        FindingMute.host_id.in_(host_ids), FindingMute.expires_at > at
    )
    return session.execute(query.distinct()).all()


def list_participants(session: Session, incident_id: UUID) -> Sequence[IncidentParticipant]:
    """List the participants in the order of joining."""
    query = select(IncidentParticipant).where(IncidentParticipant.incident_id == incident_id)
    return session.scalars(query.order_by(IncidentParticipant.joined_at)).all()


def load_user_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return the names of users by ID."""
    requested_ids = {item for item in ids if item is not None}
    if not requested_ids:
        return {}
    row = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(requested_ids)))
    return {row.id: row.name for row in row}


def find_account(session: Session, account_id: UUID) -> UserAccount | None:
    """Return an account that is in use, or None."""
    query = select(UserAccount).where(UserAccount.id == account_id, UserAccount.disabled_at.is_(None))
    return session.scalar(query)


def list_entries(
    session: Session, incident_id: UUID, after: int = 0, limit: int = 1000
) -> Sequence[JournalEntry]:
    """List the journal entries after a version, the oldest first."""
    query = select(JournalEntry).where(JournalEntry.incident_id == incident_id, JournalEntry.version > after)
    return session.scalars(query.order_by(JournalEntry.version, JournalEntry.id).limit(limit)).all()


def list_state_changes(session: Session, incident_id: UUID) -> Sequence[JournalEntry]:
    """List the journal entries about changes of the state, the oldest first."""
    query = select(JournalEntry).where(
        JournalEntry.incident_id == incident_id, JournalEntry.kind == "state_changed"
    )
    return session.scalars(query.order_by(JournalEntry.version)).all()


def map_visible_runs(session: Session, actor: Actor, ids: Collection[UUID]) -> dict[UUID, UUID | None]:
    """Return those of these runs that are visible to this actor, with their hosts."""
    query = select(Run.id, Run.host_id).where(Run.id.in_(ids), visible_runs_clause(actor))
    return {row.id: row.host_id for row in session.execute(query)}


def list_host_run_ids(session: Session, capture_ids: Collection[UUID], host_id: UUID) -> Sequence[UUID]:
    """List the runs of these captures on a host, the oldest first."""
    query = select(Run.id).where(Run.capture_id.in_(capture_ids), Run.host_id == host_id)
    return session.scalars(query.order_by(Run.id)).all()


def list_rankings(session: Session, actor: Actor, run_ids: Collection[UUID]) -> Rows:
    """List (id, host_id, t0_ns, scope, ranking) of visible runs; ranking is None before the evaluation."""
    query = (
        select(Run.id, Run.host_id, Run.t0_ns, Capture.scope, Evaluation.ranking)
        .join(Capture, Capture.id == Run.capture_id)
        .outerjoin(Evaluation, Evaluation.run_id == Run.id)
        .where(Run.id.in_(run_ids), visible_runs_clause(actor))
        .order_by(Run.id)
    )
    return session.execute(query).all()


def map_clocks(session: Session, run_ids: Collection[UUID]) -> dict[UUID, Json | None]:
    """Return the clock readings of these runs."""
    rows = session.execute(select(Run.id, Run.clock).where(Run.id.in_(run_ids)))
    return {row.id: row.clock for row in rows}


def list_artifacts(session: Session, run_ids: Collection[UUID]) -> Rows:
    """List (artifact, collector) of these runs."""
    query = (
        select(Artifact, RunCollector.collector)
        .outerjoin(RunCollector, RunCollector.id == Artifact.run_collector_id)
        .where(Artifact.run_id.in_(run_ids))
        .order_by(Artifact.id)
    )
    return session.execute(query).all()


def list_outcomes(session: Session, incident_id: UUID) -> Sequence[CauseOutcome]:
    """List the cause outcomes of an incident."""
    query = select(CauseOutcome).where(CauseOutcome.incident_id == incident_id).order_by(CauseOutcome.id)
    return session.scalars(query).all()


def list_host_names(session: Session, actor: Actor, incident_ids: Collection[UUID]) -> Rows:
    """List (incident_id, name) of the visible hosts of incidents."""
    query = (
        select(IncidentHost.incident_id, Host.name)
        .join(Host, Host.id == IncidentHost.host_id)
        .where(IncidentHost.incident_id.in_(incident_ids), visible_hosts_clause(actor))
        .order_by(Host.name)
    )
    return session.execute(query).all()


def count_participants(session: Session, incident_ids: Collection[UUID]) -> dict[UUID, int]:
    """Count the participants of each incident."""
    query = (
        select(IncidentParticipant.incident_id, func.count())
        .where(IncidentParticipant.incident_id.in_(incident_ids))
        .group_by(IncidentParticipant.incident_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def list_decided_hypotheses(session: Session, incident_ids: Collection[UUID]) -> Sequence[Hypothesis]:
    """List the likely and confirmed hypotheses of incidents."""
    query = select(Hypothesis).where(
        Hypothesis.incident_id.in_(incident_ids), Hypothesis.state.in_(("likely", "confirmed"))
    )
    return session.scalars(query.order_by(Hypothesis.id)).all()


def list_fix_states(session: Session, incident_ids: Collection[UUID]) -> Rows:
    """List (incident_id, state) of the fixes of incidents."""
    query = select(Fix.incident_id, Fix.state).where(Fix.incident_id.in_(incident_ids))
    return session.execute(query.order_by(Fix.id)).all()
