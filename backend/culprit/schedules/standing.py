"""Whether a schedule may do what it asks for: looked at when it is made, shown, and every time that it is due."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import Plan
from culprit.auth.actor import Actor, actor_by_id
from culprit.auth.policy import allowed, policy
from culprit.captures.consent import permit_ptrace
from culprit.captures.schemas import CapturePreview
from culprit.captures.service import check_options, plan_of, scope_of
from culprit.kit.errors import CulpritError, Forbidden
from culprit.models import Host, Schedule
from culprit.schedules.schemas import Wanted

#: What `capture.source` says of captures that nobody was there for.
SOURCE = "schedule"


def plan_for(actor: Actor, wanted: Wanted, hosts: Sequence[Host]) -> Plan:
    """The plan that somebody may have captured on these hosts by a schedule. Raises Invalid, Forbidden, NotFound."""
    policy(actor, "schedule.manage")
    asked = CapturePreview.model_construct(
        host_ids=[], **wanted.model_dump(exclude={"scope"}), scope=wanted.scope
    )
    plan = plan_of(asked)
    scope = scope_of(asked)
    check_options(asked.options, plan)
    permit_ptrace(plan.tier, hosts, SOURCE, scope)
    policy(actor, f"capture.{plan.tier}")
    for host in hosts:
        policy(actor, f"capture.{plan.tier}", host)
    return plan


def owner_of(session: Session, one: Schedule) -> Actor:
    """Whose captures these are, as the account is now. Raises Forbidden."""
    owner = actor_by_id(session, one.owner_id)
    if owner is None:
        raise Forbidden("schedule.owner_gone")
    return owner


def permit(session: Session, one: Schedule, owner: Actor, hosts: Sequence[Host]) -> Plan:
    """What a schedule may start now. Raises Invalid, Forbidden, NotFound; ValueError where it cannot be read."""
    plan = plan_for(owner, Wanted.model_validate(one.wanted), hosts)
    if plan.tier is Tier.DEEP:
        admin = actor_by_id(session, one.deep_allowed_by)
        if admin is None or not allowed(admin, "schedule.allow_deep"):
            raise Forbidden("schedule.deep_not_allowed")
    return plan


def refusal(session: Session, one: Schedule, hosts: Sequence[Host]) -> dict[str, object] | None:
    """Why a schedule would start nothing if it were due now."""
    try:
        owner = owner_of(session, one)
        permit(session, one, owner, hosts)
    except CulpritError as error:
        return error.sentence
    except ValueError as error:
        return {"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}
    return None
