"""Every SELECT of the fleet: four, however many hosts there are.

What they read grows with hosts × looks × rules that spoke, never with how long captures have been kept: the newest
looks of a host are found through the index over (host_id, t0_ns).
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

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.core.rules.contract import Severity
from culprit.models import Capture, Evaluation, Finding, Host, Run

#: Looks of a host that count. A diagnosis takes up to three captures, of which the first asks the most.
LOOKS = 3
#: More hosts than this are not drawn: a label says which.
MOST_HOSTS = 500


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host as the fleet needs it."""

    id: UUID
    name: str
    labels: dict[str, str]
    state: str


@dataclass(frozen=True, slots=True)
class LookRow:
    """One evaluated run; `said_at` is when the rules last spoke of it."""

    host_id: UUID
    run_id: UUID
    t1_ns: int
    plan: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class FiredRow:
    """One rule that fired, or might have, on one run: its worst subject."""

    run_id: UUID
    rule: str
    state: Literal["fired", "inconclusive"]
    severity: Severity
    subject: dict[str, str]
    value: float | None
    threshold: float | None
    subjects: int


@dataclass(frozen=True, slots=True)
class Quiet:
    """What stayed quiet on one run, side by side; a value is None where nothing was there to be measured."""

    rules: list[str]
    values: list[float | None]
    thresholds: list[float | None]


def hosts(
    session: Session, actor: Actor, labels: Sequence[tuple[str, str]] = ()
) -> tuple[list[HostRow], int]:
    """The visible hosts with these labels by name, at most 500, and how many there are."""
    where = and_(
        visible(actor),
        Host.state != "retired",
        *(Host.labels[name].astext == value for name, value in labels),
    )
    query = (
        select(Host.id, Host.name, Host.labels, Host.state, func.count().over())
        .where(where)
        .order_by(Host.name, Host.id)
        .limit(MOST_HOSTS)
    )
    rows = session.execute(query).all()
    return [HostRow(*row[:4]) for row in rows], rows[0][4] if rows else 0


def looks(session: Session, host_ids: Sequence[UUID]) -> list[LookRow]:
    """The newest evaluated runs of each host by when they measured, the newest first."""
    look = (
        select(Run.id, Run.t0_ns, Run.t1_ns, Run.capture_id, Evaluation.at)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .where(Run.host_id == Host.id, Run.t0_ns.is_not(None))
        .order_by(Run.t0_ns.desc())
        .limit(LOOKS)
        .lateral()
    )
    query = (
        select(Host.id, look.c.id, look.c.t1_ns, Capture.plan, look.c.at)
        .select_from(Host)
        .join(look, true())
        .join(Capture, Capture.id == look.c.capture_id)
        .where(Host.id.in_(host_ids))
        .order_by(Host.id, look.c.t0_ns.desc())
    )
    return [LookRow(*row) for row in session.execute(query)]


def fired(session: Session, run_ids: Sequence[UUID]) -> list[FiredRow]:
    """What fired or was inconclusive, each rule once for a run: its worst subject, and how many there were.

    A run's findings were written worst first, so that ids are in that order.
    """
    state = case({"fired": 0}, value=Finding.state, else_=1)
    severity = case({"critical": 0, "warn": 1}, value=Finding.severity, else_=2)
    own: Any = Finding.numbers[0]
    query = (
        select(
            Finding.run_id,
            Finding.rule,
            Finding.state,
            Finding.severity,
            Finding.subject,
            own["value"].as_float(),
            own["threshold"].as_float(),
            func.count().over(partition_by=(Finding.run_id, Finding.rule, Finding.state)),
        )
        .ext(distinct_on(Finding.run_id, Finding.rule))
        .where(Finding.run_id.in_(run_ids))
        .order_by(Finding.run_id, Finding.rule, state, severity, Finding.id)
    )
    return [FiredRow(*row) for row in session.execute(query)]


def quiet(session: Session, run_ids: Sequence[UUID]) -> dict[UUID, Quiet]:
    """What stayed quiet, by run: a hundred numbers each. Their citations, nine tenths of it, stay in the database."""
    one = func.jsonb_array_elements(Evaluation.quiet).table_valued("value", name="one").lateral()
    own = one.c.value.op("->")("numbers").op("->")(0)
    columns = (one.c.value.op("->")("rule"), own.op("->")("value"), own.op("->")("threshold"))
    query = (
        select(Evaluation.run_id, *(func.jsonb_agg(column, type_=JSONB) for column in columns))
        .join(one, true())
        .where(Evaluation.run_id.in_(run_ids))
        .group_by(Evaluation.run_id)
    )
    return {row[0]: Quiet(*row[1:]) for row in session.execute(query)}
