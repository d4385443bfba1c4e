"""Decisions about triggers: who makes and changes them, and which labels allow more than the light tier."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.alerts.contract import Incoming
from culprit.infra.secrets import vault
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.kit.uuid7 import uuid7
from culprit.models import TierAllowance, Trigger
from culprit.triggers import queries, secrets
from culprit.triggers.decide import decide, tiers
from culprit.triggers.schemas import (
    AllowanceCreate,
    TriggerCreate,
    TriggerNamed,
    TriggerTest,
    TriggerTested,
    TriggerUpdate,
)

#: Fields that a request's digest is made without: a digest of a secret is a way to guess it.
SECRETS = {"secret"}


def create(session: Session, actor: Actor, body: TriggerCreate) -> tuple[Trigger, str]:
    """A new trigger and its secret, which is told once. Raises Conflict, Invalid, NotFound."""
    policy(actor, "trigger.manage")
    if body.proof == "token" and body.secret is not None:
        raise Invalid("trigger.token_is_ours")
    row = Trigger(id=uuid7(), name=body.name, kind=body.kind, proof=body.proof, owner_id=actor.id)
    row.options, row.enabled = body.options.model_dump(mode="json"), body.enabled
    row.channel_ids = _channels(session, body.channel_ids)
    secret = secrets.give(row, body.secret.get_secret_value() if body.secret else None, vault())
    session.add(row)
    _named_alone(session, row.name)
    audit.record(
        session,
        actor,
        "trigger.create",
        "trigger",
        row.id,
        name=row.name,
        trigger_kind=row.kind,
        proof=row.proof,
    )
    return row, secret


def update(
    session: Session, actor: Actor, trigger_id: UUID, body: TriggerUpdate
) -> tuple[Trigger, str | None]:
    """Changes a trigger, which is the actor's from then on: it never does more than who changed it last may."""
    policy(actor, "trigger.manage")
    row = one(session, actor, trigger_id)
    changed = sorted(body.model_dump(exclude_unset=True, exclude=SECRETS))
    if body.name is not None:
        row.name = body.name
    if body.options is not None:
        row.options = body.options.model_dump(mode="json")
    if body.channel_ids is not None:
        row.channel_ids = _channels(session, body.channel_ids)
    if body.enabled is not None:
        row.enabled = body.enabled
    secret = None
    if body.new_secret or body.secret is not None:
        if row.proof == "token" and body.secret is not None:
            raise Invalid("trigger.token_is_ours")
        secret = secrets.give(row, body.secret.get_secret_value() if body.secret else None, vault())
    row.owner_id = actor.id
    _named_alone(session, row.name)
    audit.record(
        session,
        actor,
        "trigger.change",
        "trigger",
        row.id,
        name=row.name,
        changed=changed,
        secret=secret is not None,
    )
    return row, secret


def remove(session: Session, actor: Actor, trigger_id: UUID) -> None:
    """Forgets a trigger and its alerts; incidents and captures stay."""
    policy(actor, "trigger.manage")
    row = one(session, actor, trigger_id)
    session.delete(row)
    audit.record(session, actor, "trigger.remove", "trigger", row.id, name=row.name)


def one(session: Session, actor: Actor, trigger_id: UUID) -> Trigger:
    """One that exists for this actor. Raises NotFound."""
    row = queries.trigger(session, actor, trigger_id)
    if row is None:
        raise NotFound("trigger.not_found")
    return row


def _channels(session: Session, ids: Iterable[UUID]) -> list[str]:
    wanted = list(dict.fromkeys(ids))
    if len(queries.channels(session, wanted)) != len(wanted):
        raise NotFound("channel.not_found")
    return [str(each) for each in wanted]


def _named_alone(session: Session, name: str) -> None:
    try:
        with session.begin_nested():
            session.flush()
    except IntegrityError:
        raise Conflict("trigger.name_taken", name=name) from None


def test(session: Session, actor: Actor, trigger_id: UUID, body: TriggerTest) -> TriggerTested:
    """What would become of an alert with these labels now. Starts and stores nothing."""
    policy(actor, "trigger.manage")
    row = one(session, actor, trigger_id)
    alert = Incoming("test", True, body.labels.get("alertname", body.title), body.title, labels=body.labels)
    decision = decide(session, row, alert, now())
    host, reason = decision.place.host, decision.reason or decision.place.reason
    return TriggerTested(
        state=decision.state,
        reason={"key": reason.key, "params": dict(reason.params)} if reason else None,
        host=TriggerNamed(id=host.id, name=host.name) if host else None,
        service=decision.place.service,
        peers=[TriggerNamed(id=each.id, name=each.name) for each in decision.peers],
        tiers=tiers(session, host) if host else [],
    )


def allow(session: Session, actor: Actor, body: AllowanceCreate) -> TierAllowance:
    """On hosts with this label the standard tier may run without a person from now on. Repeating it changes nothing."""
    policy(actor, "tier.allow")
    [(name, value)] = body.label.items()
    found = session.scalar(
        select(TierAllowance).where(TierAllowance.label_name == name, TierAllowance.label_value == value)
    )
    if found is not None:
        return found
    row = TierAllowance(label_name=name, label_value=value, by=actor.id)
    session.add(row)
    session.flush()
    audit.record(
        session, actor, "tier.allow", "tier_allowance", row.id, label=f"{name}={value}", tier=row.tier
    )
    return row


def forbid(session: Session, actor: Actor, allowance_id: UUID) -> None:
    """Only the light tier again, from the next start on."""
    policy(actor, "tier.allow")
    row = session.get(TierAllowance, allowance_id)
    if row is None:
        raise NotFound("tier_allowance.not_found")
    session.delete(row)
    label = f"{row.label_name}={row.label_value}"
    audit.record(session, actor, "tier.forbid", "tier_allowance", row.id, label=label, tier=row.tier)
