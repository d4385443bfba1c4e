"""Activate and deactivate kill switches."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, can_see_all_with_labels, require_covered
from culprit.accounts.kill_switch_check import describe_switch
from culprit.automation.kill_switch import queries
from culprit.automation.kill_switch.schemas import KillSwitchCreate, KillSwitchRef, KillSwitchResponse
from culprit.automation.watchers import service as watchers
from culprit.captures.cancellation import cancel_runs_on_hosts
from culprit.incidents.records import journal
from culprit.infra.db.clock import utc_now
from culprit.infra.event_stream import EventPublisher
from culprit.infra.models.automation.kill_switch import KillSwitch
from culprit.web.errors import ForbiddenError, NotFoundError

RESOURCE = "kill_switch"


def activate_switch(
    session: Session, actor: Actor, publisher: EventPublisher, kill_switch_create: KillSwitchCreate
) -> tuple[KillSwitch, int]:
    """Activate a switch, effective at commit. For an active switch, only cancel what runs.

    Returns the switch and the number of canceled captures. Raises ForbiddenError, NotFoundError.
    """
    authorize(actor, "kill_switch.manage")
    switch = _build_switch(session, actor, kill_switch_create)
    try:
        with session.begin_nested():
            session.add(switch)
        new = True
    except IntegrityError:  # uq_kill_switch_place
        result = queries.lock_active_switch(session, switch.place)
        if result is None:  # it was deactivated at the same time
            raise
        switch, new = result, False
    key, params = describe_switch(session, switch)
    uuids: list[UUID] = []
    if kill_switch_create.cancel:
        why = {"key": key, "params": params}
        uuids = cancel_runs_on_hosts(session, publisher, queries.affected_hosts_clause(switch), why)
    # A watcher would start captures, so it ends even if running captures are kept.
    ended = watchers.stop_watchers_on_hosts(
        session, queries.affected_hosts_clause(switch), {"key": key, "params": params}
    )
    if new:
        _append_journal_entries(session, actor, switch, "kill_switch_activated")
    audit.record_action(
        session,
        actor,
        "kill_switch.activate",
        RESOURCE,
        switch.id,
        place=switch.place,
        reason=kill_switch_create.reason,
        canceled=[str(uuid) for uuid in uuids],
        watchers=[item.number for item in ended],
        again=not new,
    )
    return switch, len(uuids)


def _build_switch(session: Session, actor: Actor, kill_switch_create: KillSwitchCreate) -> KillSwitch:
    if kill_switch_create.host_id is not None:
        host = queries.find_host(session, actor, kill_switch_create.host_id)
        if host is None:
            raise NotFoundError("host.not_found")
    elif kill_switch_create.label is None and not actor.unrestricted:
        raise ForbiddenError("kill_switch.whole_fleet")
    name, value = next(iter(kill_switch_create.label.items())) if kill_switch_create.label else (None, None)
    if name is not None and value is not None and not can_see_all_with_labels(actor, {name: value}):
        raise ForbiddenError("kill_switch.whole_fleet")
    place = (
        f"host:{kill_switch_create.host_id}"
        if kill_switch_create.host_id
        else f"label:{name}={value}"
        if name
        else kill_switch_create.kind
    )
    return KillSwitch(
        kind=kill_switch_create.kind,
        host_id=kill_switch_create.host_id,
        label_name=name,
        label_value=value,
        place=place,
        reason=kill_switch_create.reason,
        activated_by=actor.id,
    )


def deactivate_switch(session: Session, actor: Actor, switch_id: UUID) -> KillSwitch:
    """Deactivate a switch; canceled captures stay canceled. Repeating it changes nothing."""
    authorize(actor, "kill_switch.manage")
    switch = queries.lock_switch(session, actor, switch_id)
    if switch is None:
        raise NotFoundError("kill_switch.not_found")
    if switch.kind == "everywhere" and not actor.unrestricted:
        raise ForbiddenError("kill_switch.whole_fleet")
    if switch.label_name is not None and switch.label_value is not None:
        require_covered(
            actor, covered=can_see_all_with_labels(actor, {switch.label_name: switch.label_value})
        )
    if switch.deactivated_at is None:
        switch.deactivated_at, switch.deactivated_by = utc_now(), actor.id
        _append_journal_entries(session, actor, switch, "kill_switch_deactivated")
        audit.record_action(session, actor, "kill_switch.deactivate", RESOURCE, switch.id, place=switch.place)
    return switch


def _append_journal_entries(session: Session, actor: Actor, switch: KillSwitch, kind: str) -> None:
    """Record it in the journals of the affected incidents."""
    for incident in queries.lock_affected_incidents(session, switch):
        journal.append_entry(session, incident, actor, kind, note=switch.reason, place=switch.place)


def build_switches(
    session: Session, rows: Sequence[KillSwitch], canceled: int = 0
) -> list[KillSwitchResponse]:
    """Build the responses of switches."""
    hosts = queries.load_host_names(session, (row.host_id for row in rows))
    people = queries.load_user_names(
        session, (user_id for row in rows for user_id in (row.activated_by, row.deactivated_by))
    )
    return [
        KillSwitchResponse.model_validate(
            {
                "id": row.id,
                "kind": row.kind,
                "host": _build_ref(row.host_id, hosts),
                "label": {row.label_name: row.label_value} if row.label_name else None,
                "reason": row.reason,
                "activated_by": _build_ref(row.activated_by, people),
                "created_at": row.created_at,
                "deactivated_by": _build_ref(row.deactivated_by, people),
                "deactivated_at": row.deactivated_at,
                "canceled": canceled,
            }
        )
        for row in rows
    ]


def _build_ref(uuid: UUID | None, names: dict[UUID, str]) -> KillSwitchRef | None:
    return KillSwitchRef(id=uuid, name=names[uuid]) if uuid is not None and uuid in names else None
