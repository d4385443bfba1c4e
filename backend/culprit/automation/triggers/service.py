"""Create, change and delete triggers, and set which labels allow more than the light tier."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.automation.triggers import queries, secrets
from culprit.automation.triggers.plan_response import list_allowed_tiers, plan_response
from culprit.automation.triggers.schemas import (
    NamedRef,
    TriggerCreate,
    TriggerTestRequest,
    TriggerTestResponse,
    TriggerUpdate,
    UnattendedTierCreate,
)
from culprit.domain.alerts.contract import IncomingAlert
from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.unattended_tier import UnattendedTier
from culprit.infra.vault import get_vault
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

#: Fields that are not part of a request's digest: secrets could be guessed from it.
SECRETS = {"secret"}


def create_trigger(session: Session, actor: Actor, body: TriggerCreate) -> tuple[Trigger, str]:
    """Create a trigger; return it with its secret. Raises ConflictError, InvalidRequestError, NotFoundError."""
    authorize(actor, "trigger.manage")
    if body.proof == "token" and body.secret is not None:
        raise InvalidRequestError("trigger.token_is_ours")
    row = Trigger(id=new_uuid7(), name=body.name, kind=body.kind, proof=body.proof, owner_id=actor.id)
    row.options, row.enabled = body.options.model_dump(mode="json"), body.enabled
    row.channel_ids = _require_channels(session, body.channel_ids)
    secret = secrets.set_secret(row, body.secret.get_secret_value() if body.secret else None, get_vault())
    session.add(row)
    _require_unique_name(session, row.name)
    audit.record_action(
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


def update_trigger(
    session: Session, actor: Actor, trigger_id: UUID, body: TriggerUpdate
) -> tuple[Trigger, str | None]:
    """Change a trigger and make the actor its owner, whose permissions limit it."""
    authorize(actor, "trigger.manage")
    row = get_trigger(session, actor, trigger_id)
    changed = sorted(body.model_dump(exclude_unset=True, exclude=SECRETS))
    if body.name is not None:
        row.name = body.name
    if body.options is not None:
        row.options = body.options.model_dump(mode="json")
    if body.channel_ids is not None:
        row.channel_ids = _require_channels(session, body.channel_ids)
    if body.enabled is not None:
        row.enabled = body.enabled
    secret = None
    if body.new_secret or body.secret is not None:
        if row.proof == "token" and body.secret is not None:
            raise InvalidRequestError("trigger.token_is_ours")
        secret = secrets.set_secret(row, body.secret.get_secret_value() if body.secret else None, get_vault())
    row.owner_id = actor.id
    _require_unique_name(session, row.name)
    audit.record_action(
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


def delete_trigger(session: Session, actor: Actor, trigger_id: UUID) -> None:
    """Delete a trigger and its alerts; incidents and captures are kept."""
    authorize(actor, "trigger.manage")
    row = get_trigger(session, actor, trigger_id)
    session.delete(row)
    audit.record_action(session, actor, "trigger.remove", "trigger", row.id, name=row.name)


def get_trigger(session: Session, actor: Actor, trigger_id: UUID) -> Trigger:
    """Return a visible trigger. Raises NotFoundError."""
    row = queries.lock_trigger(session, actor, trigger_id)
    if row is None:
        raise NotFoundError("trigger.not_found")
    return row


def _require_channels(session: Session, ids: Iterable[UUID]) -> list[str]:
    requested = list(dict.fromkeys(ids))
    if len(queries.load_channel_names(session, requested)) != len(requested):
        raise NotFoundError("channel.not_found")
    return [str(each) for each in requested]


def _require_unique_name(session: Session, name: str) -> None:
    try:
        with session.begin_nested():
            session.flush()
    except IntegrityError:
        raise ConflictError("trigger.name_taken", name=name) from None


def preview_response(
    session: Session, actor: Actor, trigger_id: UUID, body: TriggerTestRequest
) -> TriggerTestResponse:
    """Return the response to an alert with these labels. Starts and stores nothing."""
    authorize(actor, "trigger.manage")
    row = get_trigger(session, actor, trigger_id)
    alert = IncomingAlert(
        "test", True, body.labels.get("alertname", body.title), body.title, labels=body.labels
    )
    decision = plan_response(session, row, alert, utc_now())
    host, reason = decision.place.host, decision.reason or decision.place.reason
    return TriggerTestResponse(
        state=decision.state,
        reason={"key": reason.key, "params": dict(reason.params)} if reason else None,
        host=NamedRef(id=host.id, name=host.name) if host else None,
        service=decision.place.service,
        peers=[NamedRef(id=each.id, name=each.name) for each in decision.peers],
        tiers=list_allowed_tiers(session, host) if host else [],
    )


def allow_unattended_tier(session: Session, actor: Actor, body: UnattendedTierCreate) -> UnattendedTier:
    """Allow the standard tier to run unattended on hosts with this label. Repeating it changes nothing."""
    authorize(actor, "tier.allow")
    [(name, value)] = body.label.items()
    unattended_tier = queries.find_unattended_tier(session, name, value)
    if unattended_tier is not None:
        return unattended_tier
    row = UnattendedTier(label_name=name, label_value=value, created_by=actor.id)
    session.add(row)
    session.flush()
    audit.record_action(
        session, actor, "tier.allow", "unattended_tier", row.id, label=f"{name}={value}", tier=row.tier
    )
    return row


def remove_unattended_tier(session: Session, actor: Actor, unattended_tier_id: UUID) -> None:
    """Allow only the light tier again, from the next start on."""
    authorize(actor, "tier.allow")
    row = session.get(UnattendedTier, unattended_tier_id)
    if row is None:
        raise NotFoundError("unattended_tier.not_found")
    session.delete(row)
    label = f"{row.label_name}={row.label_value}"
    audit.record_action(session, actor, "tier.forbid", "unattended_tier", row.id, label=label, tier=row.tier)
