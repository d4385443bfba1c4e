"""SELECTs of the fleet: four, for any number of hosts.

Their cost grows with hosts × evaluated runs × evaluated rules, never with the age of captures: the newest
runs of a host are read through the index over (host_id, t0_ns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import and_, case, func, select, true
from sqlalchemy.dialects.postgresql import JSONB, distinct_on
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.domain.rules.finding import Severity
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host

#: Newest runs of a host that count. A diagnosis has up to three captures; the first evaluates the most rules.
RUNS_PER_HOST = 3
#: The grid displays at most this many hosts; a label filter selects them.
MAX_HOSTS = 500


@dataclass(frozen=True, slots=True)
class HostRow:
    """The columns of a host that the fleet needs."""

    id: UUID
    name: str
    labels: dict[str, str]
    state: str


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """One evaluated run; `evaluated_at` is the time of its last evaluation."""

    host_id: UUID
    run_id: UUID
    t1_ns: int
    plan: str
    evaluated_at: datetime


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A rule that matched or was inconclusive on a run, with its worst subject."""

    run_id: UUID
    rule: str
    state: Literal["matched", "inconclusive"]
    severity: Severity
    subject: dict[str, str]
    value: float | None
    threshold: float | None
    subjects: int


@dataclass(frozen=True, slots=True)
class NonMatches:
    """The rules that did not match on a run, with their values; None if nothing was measured."""

    rules: list[str]
    values: list[float | None]
    thresholds: list[float | None]


def list_hosts(
    session: Session, actor: Actor, labels: Sequence[tuple[str, str]] = ()
) -> tuple[list[HostRow], int]:
    """Return the visible hosts with these labels by name, at most 500, and their total number."""
    where = and_(
        visible_hosts_clause(actor),
        Host.state != "retired",
        *(Host.labels[name].astext == value for name, value in labels),
    )
    query = (
        select(Host.id, Host.name, Host.labels, Host.state, func.count().over())
        .where(where)
        .order_by(Host.name, Host.id)
        .limit(MAX_HOSTS)
    )
    rows = session.execute(query).all()
    return [HostRow(*row[:4]) for row in rows], rows[0][4] if rows else 0


def list_evaluated_runs(session: Session, host_ids: Sequence[UUID]) -> list[EvaluatedRun]:
    """Return the newest evaluated runs of each host, the newest measurement first."""
    newest = (
        select(Run.id, Run.t0_ns, Run.t1_ns, Run.capture_id, Evaluation.at)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .where(Run.host_id == Host.id, Run.t0_ns.is_not(None))
        .order_by(Run.t0_ns.desc())
        .limit(RUNS_PER_HOST)
        .lateral()
    )
    query = (
        select(Host.id, newest.c.id, newest.c.t1_ns, Capture.plan, newest.c.at)
        .select_from(Host)
        .join(newest, true())
        .join(Capture, Capture.id == newest.c.capture_id)
        .where(Host.id.in_(host_ids))
        .order_by(Host.id, newest.c.t0_ns.desc())
    )
    return [EvaluatedRun(*row) for row in session.execute(query)]


def list_matches(session: Session, run_ids: Sequence[UUID]) -> list[MatchRow]:
    """Return each rule that matched or was inconclusive once for each run: its worst subject, and their number.

    The findings of a run are stored worst first, so their IDs are in that order.
    """
    state = case({"matched": 0}, value=StoredFinding.state, else_=1)
    severity = case({"critical": 0, "warn": 1}, value=StoredFinding.severity, else_=2)
    own: Any = StoredFinding.numbers[0]
    query = (
        select(
            StoredFinding.run_id,
            StoredFinding.rule,
            StoredFinding.state,
            StoredFinding.severity,
            StoredFinding.subject,
            own["value"].as_float(),
            own["threshold"].as_float(),
            func.count().over(partition_by=(StoredFinding.run_id, StoredFinding.rule, StoredFinding.state)),
        )
        .ext(distinct_on(StoredFinding.run_id, StoredFinding.rule))
        .where(StoredFinding.run_id.in_(run_ids))
        .order_by(StoredFinding.run_id, StoredFinding.rule, state, severity, StoredFinding.id)
    )
    return [MatchRow(*row) for row in session.execute(query)]


def load_non_matches(session: Session, run_ids: Sequence[UUID]) -> dict[UUID, NonMatches]:
    """Return the rules that did not match, by run, without their citations, which are 90 % of the data."""
    item = func.jsonb_array_elements(Evaluation.not_matched).table_valued("value", name="item").lateral()
    own = item.c.value.op("->")("numbers").op("->")(0)
    columns = (item.c.value.op("->")("rule"), own.op("->")("value"), own.op("->")("threshold"))
    query = (
        select(Evaluation.run_id, *(func.jsonb_agg(column, type_=JSONB) for column in columns))
        .join(item, true())
        .where(Evaluation.run_id.in_(run_ids))
        .group_by(Evaluation.run_id)
    )
    return {row[0]: NonMatches(*row[1:]) for row in session.execute(query)}
