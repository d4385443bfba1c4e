"""Permissions of schedules, checked at creation, in responses, and at every due time."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import Plan
from culprit.accounts.actor import Actor, find_actor
from culprit.accounts.authorization import authorize, is_allowed
from culprit.automation.schedules.schemas import ScheduledCapture
from culprit.captures.consent import require_ptrace_permitted
from culprit.captures.schemas import CapturePreviewRequest
from culprit.captures.service import build_plan, build_scope, check_options
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import CulpritError, ForbiddenError

#: `capture.source` of scheduled captures.
SOURCE = "schedule"


def build_permitted_plan(actor: Actor, requested: ScheduledCapture, hosts: Sequence[Host]) -> Plan:
    """Return the plan that an actor may schedule on these hosts.

    Raises InvalidRequestError, ForbiddenError, NotFoundError.
    """
    authorize(actor, "schedule.manage")
    requirement = CapturePreviewRequest.model_construct(
        host_ids=[], **requested.model_dump(exclude={"scope"}), scope=requested.scope
    )
    plan = build_plan(requirement)
    scope = build_scope(requirement)
    check_options(requirement.options, plan)
    require_ptrace_permitted(plan.tier, hosts, SOURCE, scope)
    authorize(actor, f"capture.{plan.tier}")
    for host in hosts:
        authorize(actor, f"capture.{plan.tier}", host)
    return plan


def get_owner(session: Session, schedule: Schedule) -> Actor:
    """Return the owner as the account is now. Raises ForbiddenError."""
    owner = find_actor(session, schedule.owner_id)
    if owner is None:
        raise ForbiddenError("schedule.owner_gone")
    return owner


def require_permitted(session: Session, schedule: Schedule, owner: Actor, hosts: Sequence[Host]) -> Plan:
    """Return the plan that a schedule may start now.

    Raises InvalidRequestError, ForbiddenError, NotFoundError; ValueError if the stored capture is not valid
    any more.
    """
    plan = build_permitted_plan(owner, ScheduledCapture.model_validate(schedule.capture), hosts)
    if plan.tier is Tier.DEEP:
        admin = find_actor(session, schedule.deep_allowed_by)
        if admin is None or not is_allowed(admin, "schedule.allow_deep"):
            raise ForbiddenError("schedule.deep_not_allowed")
    return plan


def find_refusal(session: Session, schedule: Schedule, hosts: Sequence[Host]) -> dict[str, object] | None:
    """Return why a schedule could start nothing now, or None."""
    try:
        owner = get_owner(session, schedule)
        require_permitted(session, schedule, owner, hosts)
    except CulpritError as error:
        return error.sentence
    except ValueError as error:
        return {"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}
    return None
