"""Decisions about kill switches: who pulls and lifts them, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.kill_switch import said
from culprit.auth.policy import covers, policy, require_covered
from culprit.captures.calling_off import call_off_on
from culprit.incidents import journal
from culprit.infra.progress import Publisher
from culprit.killswitch import queries
from culprit.killswitch.schemas import KillSwitchNamed, KillSwitchPull, KillSwitchRead
from culprit.kit.clock import now
from culprit.kit.errors import Forbidden, NotFound
from culprit.models import KillSwitch
from culprit.standbys import service as standbys

RESOURCE = "kill_switch"


def pull(
    session: Session, actor: Actor, publisher: Publisher, wanted: KillSwitchPull
) -> tuple[KillSwitch, int]:
    """Nothing starts there from the commit of this on. Pulling a switch again only calls off what runs.

    Returns the switch and how many captures were called off. Raises Forbidden, NotFound.
    """
    policy(actor, "kill_switch.manage")
    switch = _of(session, actor, wanted)
    try:
        with session.begin_nested():
            session.add(switch)
        new = True
    except IntegrityError:  # uq_kill_switch_place
        found = queries.active(session, switch.place)
        if found is None:  # it was lifted in this very moment
            raise
        switch, new = found, False
    key, params = said(session, switch)
    cancelled: list[UUID] = []
    if wanted.cancel:
        why = {"key": key, "params": params}
        cancelled = call_off_on(session, publisher, queries.held(switch), why)
    # What waits there would start something: it ends even where what runs may come to its end.
    ended = standbys.call_off_on(session, queries.held(switch), {"key": key, "params": params})
    if new:
        _tell(session, actor, switch, "kill_switch_pulled")
    audit.record(
        session,
        actor,
        "kill_switch.pull",
        RESOURCE,
        switch.id,
        place=switch.place,
        reason=wanted.reason,
        cancelled=[str(one) for one in cancelled],
        standbys=[one.number for one in ended],
        again=not new,
    )
    return switch, len(cancelled)


def _of(session: Session, actor: Actor, wanted: KillSwitchPull) -> KillSwitch:
    if wanted.host_id is not None:
        host = queries.host(session, actor, wanted.host_id)
        if host is None:
            raise NotFound("host.not_found")
    elif wanted.label is None and not actor.unrestricted:
        raise Forbidden("kill_switch.whole_fleet")
    name, value = next(iter(wanted.label.items())) if wanted.label else (None, None)
    if name is not None and value is not None and not covers(actor, {name: value}):
        raise Forbidden("kill_switch.whole_fleet")
    place = f"host:{wanted.host_id}" if wanted.host_id else f"label:{name}={value}" if name else wanted.kind
    return KillSwitch(
        kind=wanted.kind,
        host_id=wanted.host_id,
        label_name=name,
        label_value=value,
        place=place,
        reason=wanted.reason,
        pulled_by=actor.id,
    )


def lift(session: Session, actor: Actor, switch_id: UUID) -> KillSwitch:
    """Captures may start there again; what was stopped stays stopped. Repeating it changes nothing."""
    policy(actor, "kill_switch.manage")
    switch = queries.one(session, actor, switch_id)
    if switch is None:
        raise NotFound("kill_switch.not_found")
    if switch.kind == "everywhere" and not actor.unrestricted:
        raise Forbidden("kill_switch.whole_fleet")
    if switch.label_name is not None and switch.label_value is not None:
        require_covered(actor, covered=covers(actor, {switch.label_name: switch.label_value}))
    if switch.lifted_at is None:
        switch.lifted_at, switch.lifted_by = now(), actor.id
        _tell(session, actor, switch, "kill_switch_lifted")
        audit.record(session, actor, "kill_switch.lift", RESOURCE, switch.id, place=switch.place)
    return switch


def _tell(session: Session, actor: Actor, switch: KillSwitch, kind: str) -> None:
    """In the journals of the incidents that it concerns."""
    for incident in queries.incidents(session, switch):
        journal.enter(session, incident, actor, kind, note=switch.reason, place=switch.place)


def read(session: Session, rows: Sequence[KillSwitch], cancelled: int = 0) -> list[KillSwitchRead]:
    """Switches as they are sent."""
    hosts = queries.host_names(session, (row.host_id for row in rows))
    people = queries.people(session, (one for row in rows for one in (row.pulled_by, row.lifted_by)))
    return [
        KillSwitchRead.model_validate(
            {
                "id": row.id,
                "kind": row.kind,
                "host": _named(row.host_id, hosts),
                "label": {row.label_name: row.label_value} if row.label_name else None,
                "reason": row.reason,
                "pulled_by": _named(row.pulled_by, people),
                "created_at": row.created_at,
                "lifted_by": _named(row.lifted_by, people),
                "lifted_at": row.lifted_at,
                "cancelled": cancelled,
            }
        )
        for row in rows
    ]


def _named(one: UUID | None, names: dict[UUID, str]) -> KillSwitchNamed | None:
    return KillSwitchNamed(id=one, name=names[one]) if one is not None and one in names else None
