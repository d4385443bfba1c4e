"""What a diagnosis, or runs, bring along when an incident is opened from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible_runs
from culprit.captures.schemas import ScopeGiven
from culprit.core.rules.registry import CAUSES
from culprit.diagnoses import service as diagnoses
from culprit.incidents.given import MAX_PLAYBOOKS, HostGiven
from culprit.kit.errors import NotFound
from culprit.models import Capture, Evaluation, Run
from culprit.playbooks.library import library

#: What is looked at where a capture named no place that another capture could be given.
WHOLE = ScopeGiven()
KINDS = ("process", "cgroup", "unit", "container", "port")


@dataclass(frozen=True, slots=True)
class Brought:
    """Hosts with what was looked at, runs, causes that were named, and the playbooks that have those causes."""

    hosts: Sequence[HostGiven] = ()
    runs: Sequence[UUID] = ()
    causes: Sequence[str] = ()
    playbooks: Sequence[str] = ()
    began: datetime | None = None


@dataclass(slots=True)
class _Basket:
    hosts: dict[UUID, HostGiven] = field(default_factory=dict)
    runs: dict[UUID, int | None] = field(default_factory=dict)
    causes: dict[str, None] = field(default_factory=dict)


def brought(session: Session, actor: Actor, diagnosis_id: UUID | None, run_ids: Sequence[UUID]) -> Brought:
    """All of it, in order. Raises NotFound for what does not exist for this actor."""
    basket = _Basket()
    wanted = list(run_ids)
    if diagnosis_id is not None:
        diagnosis = diagnoses.one(session, actor, diagnosis_id)
        basket.hosts[diagnosis.host_id] = HostGiven(
            host_id=diagnosis.host_id, scope=_scope(diagnosis.scope), role="suspect"
        )
        result = diagnosis.result or {}
        basket.causes.update(dict.fromkeys(one["id"] for one in result.get("causes", ())))
        stages = [UUID(one["capture_id"]) for one in diagnosis.stages]
        query = select(Run.id).where(Run.capture_id.in_(stages), Run.host_id == diagnosis.host_id)
        wanted = [*session.scalars(query.order_by(Run.id)), *wanted]
    _runs(session, actor, wanted, basket)
    causes = [one for one in basket.causes if one in CAUSES]
    begins = [one for one in basket.runs.values() if one is not None]
    return Brought(
        list(basket.hosts.values()),
        list(basket.runs),
        causes,
        playbooks_of(causes),
        datetime.fromtimestamp(min(begins) / 1e9, UTC) if begins else None,
    )


def _runs(session: Session, actor: Actor, wanted: Sequence[UUID], basket: _Basket) -> None:
    rows = session.execute(
        select(Run.id, Run.host_id, Run.t0_ns, Capture.scope, Evaluation.ranking)
        .join(Capture, Capture.id == Run.capture_id)
        .outerjoin(Evaluation, Evaluation.run_id == Run.id)
        .where(Run.id.in_(wanted), visible_runs(actor))
        .order_by(Run.id)
    ).all()
    if len(rows) != len(set(wanted)):
        raise NotFound("run.not_found")
    for row in rows:
        basket.runs[row.id] = row.t0_ns
        if row.host_id is not None:
            basket.hosts.setdefault(row.host_id, HostGiven(host_id=row.host_id, scope=_scope(row.scope)))
        for cause in (row.ranking or {}).get("causes", ()):
            basket.causes.setdefault(cause["id"], None)


def _scope(stored: dict[str, str]) -> ScopeGiven:
    """The scope of a capture again; a declared service is looked up anew and stands for the whole host here."""
    if stored.get("kind") not in KINDS:
        return WHOLE
    return ScopeGiven.model_validate({"kind": stored["kind"], "value": stored.get("value", "")})


def playbooks_of(causes: Sequence[str]) -> list[str]:
    """The playbooks with a hypothesis of one of these causes: those of the first cause first, cases before methods."""
    rank = {cause: n for n, cause in enumerate(causes)}
    found = []
    for name, one in library().items():
        mine = [rank[each.cause] for each in one.hypotheses if each.cause in rank]
        if mine and one.steps:
            found.append((min(mine), one.kind != "case", name))
    return [name for _, _, name in sorted(found)][:MAX_PLAYBOOKS]
