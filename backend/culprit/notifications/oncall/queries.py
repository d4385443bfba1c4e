"""Every SELECT about who is on call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.infra.addresses import Rule
from culprit.models import NetworkRule, OncallOverride, OncallTurn, Rotation, UserAccount

MAX_ROTATIONS = 200


def rotation_list() -> Select[Any]:
    """All of them: who is on call is no secret within the house."""
    return select(Rotation)


def rotations(session: Session) -> list[Rotation]:
    """All of them by name."""
    return list(session.scalars(rotation_list().order_by(Rotation.name).limit(MAX_ROTATIONS)))


def rotation(session: Session, rotation_id: UUID, *, lock: bool = False) -> Rotation | None:
    """One rotation."""
    query = rotation_list().where(Rotation.id == rotation_id)
    if lock:
        query = query.with_for_update(of=Rotation).execution_options(populate_existing=True)
    return session.scalars(query).first()


def named(session: Session, name: str) -> UUID | None:
    """The rotation of that name."""
    return session.scalar(select(Rotation.id).where(Rotation.name == name))


def overrides(
    session: Session, ids: Sequence[UUID], start: datetime, end: datetime
) -> dict[UUID, list[OncallOverride]]:
    """What overlaps [start, end), in the order in which it was decided."""
    query = (
        select(OncallOverride)
        .where(
            OncallOverride.rotation_id.in_(ids),
            OncallOverride.starts_at < end,
            OncallOverride.ends_at > start,
        )
        .order_by(OncallOverride.id)
        .limit(5000)
    )
    found: dict[UUID, list[OncallOverride]] = {}
    for row in session.scalars(query):
        found.setdefault(row.rotation_id, []).append(row)
    return found


def override(session: Session, rotation_id: UUID, override_id: UUID) -> OncallOverride | None:
    """One override of a rotation."""
    query = select(OncallOverride).where(
        OncallOverride.id == override_id, OncallOverride.rotation_id == rotation_id
    )
    return session.scalars(query.with_for_update()).first()


def turns(
    session: Session, ids: Sequence[UUID], start: datetime, end: datetime
) -> dict[UUID, list[OncallTurn]]:
    """The turns from elsewhere that overlap [start, end)."""
    query = (
        select(OncallTurn)
        .where(OncallTurn.rotation_id.in_(ids), OncallTurn.starts_at < end, OncallTurn.ends_at > start)
        .order_by(OncallTurn.starts_at, OncallTurn.level, OncallTurn.id)
        .limit(20_000)
    )
    found: dict[UUID, list[OncallTurn]] = {}
    for row in session.scalars(query):
        found.setdefault(row.rotation_id, []).append(row)
    return found


def accounts(session: Session, ids: Iterable[UUID] | None = None) -> list[UserAccount]:
    """Accounts by name: these, or all that are not disabled."""
    query = select(UserAccount).order_by(UserAccount.name)
    if ids is None:
        return list(session.scalars(query.where(UserAccount.disabled_at.is_(None)).limit(2000)))
    wanted = set(ids)
    return list(session.scalars(query.where(UserAccount.id.in_(wanted)))) if wanted else []


def rules(session: Session) -> tuple[Rule, ...]:
    """The allow-list: what may be dialled over HTTP is what may be dialled at all."""
    return tuple(
        Rule(str(rule.cidr), rule.port_from, rule.port_to) for rule in session.scalars(select(NetworkRule))
    )
