"""What who may. One table of actions, one function that decides, one clause that lists.

`policy` is asked on every route and again inside tasks, because a role may have been taken away in between.
`visible` goes into every list query, so that what is out of scope does not exist for that person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, true

from culprit.auth.actor import Actor, rank, role_within
from culprit.kit.errors import Forbidden, NotFound
from culprit.models import Capture, Host, Run

# The lowest role that may do it.
ACTIONS: Mapping[str, str] = {
    "host.read": "viewer",
    "capture.read": "viewer",
    "profile.read": "viewer",
    "service.read": "viewer",
    "artifact.read": "investigator",  # raw bytes may hold more than what the screens show
    "capture.light": "investigator",
    "capture.standard": "investigator",
    "capture.deep": "oncall",
    "capture.ptrace": "admin",
    "capture.cancel": "investigator",
    "capture.import": "investigator",
    "profile.diff": "investigator",
    "finding.read": "viewer",
    "playbook.read": "viewer",
    "threshold.manage": "admin",
    "incident.read": "viewer",
    "incident.comment": "investigator",
    "incident.edit": "investigator",
    "incident.resolve": "oncall",
    "mute.manage": "oncall",
    "schedule.read": "viewer",
    "schedule.manage": "oncall",
    "schedule.allow_deep": "admin",
    "maintenance.manage": "oncall",
    "oncall.read": "viewer",
    "oncall.override": "oncall",
    "oncall.manage": "admin",
    "report.read": "viewer",
    "report.edit": "investigator",
    "report.names": "investigator",  # what was replaced, by its pseudonym
    "report.share": "investigator",
    "report.approve": "oncall",
    "kill_switch.read": "viewer",
    "kill_switch.manage": "admin",
    "standby.read": "viewer",
    "armed.manage": "oncall",
    "ring.manage": "oncall",
    "trigger.read": "viewer",
    "trigger.manage": "oncall",
    "tier.allow": "admin",
    "channel.read": "oncall",
    "channel.manage": "admin",
    "notice.read": "oncall",
    "event.read": "viewer",
    "event.tell": "investigator",  # and correct or withdraw what one has told oneself
    "event.manage": "oncall",  # what others have told
    "host.check": "investigator",
    "demo.busy": "investigator",
    "host.enrol": "admin",
    "host.edit": "admin",
    "host.pin": "admin",
    "host.retire": "admin",
    "credential.manage": "admin",
    "network.manage": "admin",
    "service.manage": "admin",
    "signon.manage": "admin",
    "storage.read": "admin",
    "storage.manage": "admin",
    "user.manage": "admin",
    "audit.read": "admin",
    "token.own": "viewer",
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """All that a token for one purpose may: its actions, and the routes below these paths."""

    paths: tuple[str, ...]
    actions: frozenset[str]

    def reaches(self, path: str) -> bool:
        """Whether a request to `path` is within the purpose."""
        return any(path == one or path.startswith(f"{one}/") for one in self.paths)


PURPOSES: Mapping[str, Purpose] = {"events": Purpose(("/api/v1/events",), frozenset({"event.tell"}))}
"""By the purpose of a token; the paths hold for routes that ask no policy too."""


def allowed(actor: Actor, action: str) -> bool:
    """Whether the role alone suffices. An action that is not listed is nobody's; admin actions take no label scope."""
    if actor.only is not None and action not in actor.only:
        return False
    lowest = ACTIONS.get(action)
    return lowest is not None and rank(role_within(actor.role, actor.label_scope)) >= rank(lowest)


def may(actor: Actor) -> list[str]:
    """All actions that the role allows, for clients that hide what cannot be done."""
    return sorted(action for action in ACTIONS if allowed(actor, action))


def in_scope(actor: Actor, labels: Mapping[str, Any]) -> bool:
    """Whether a host with these labels is within the actor's scope; the same rule as `visible`."""
    return all(labels.get(name) in values for name, values in actor.label_scope.items())


def covers(
    actor: Actor, labels: Mapping[str, str], within: Mapping[str, Sequence[str]] | None = None
) -> bool:
    """Return whether the actor's scope holds every host that can have these labels, whichever hosts there are.

    `within` is a label scope that limits those hosts further: that of the account in whose name something acts.
    """
    possible = {**(within or {}), **{name: [value] for name, value in labels.items()}}
    return all(
        name in possible and set(possible[name]) <= set(values) for name, values in actor.label_scope.items()
    )


def require_covered(actor: Actor, *, covered: bool) -> None:
    """Raise Forbidden where something that the actor sees reaches hosts outside their scope."""
    if not covered:
        scope = "; ".join(f"{name}={','.join(values)}" for name, values in sorted(actor.label_scope.items()))
        raise Forbidden("auth.outside_scope", scope=scope)


def policy(actor: Actor, action: str, resource: Host | None = None) -> None:
    """Let `actor` do `action` (on `resource`), or raise.

    Raises NotFound for a host out of scope (its existence is not told), Forbidden for too low a role.
    """
    if resource is not None and not in_scope(actor, resource.labels):
        raise NotFound("host.not_found")
    if actor.only is not None and action not in actor.only:
        raise Forbidden("auth.token_purpose", action=action)
    if not allowed(actor, action):
        raise Forbidden(
            "auth.role_too_low", action=action, role=actor.role, needs=ACTIONS.get(action, "nobody")
        )


def scope_clause(scope: Mapping[str, Sequence[str]]) -> ColumnElement[bool]:
    """A label scope as a condition on Host.labels."""
    if not scope:
        return true()
    return and_(*(Host.labels[name].astext.in_(list(values)) for name, values in scope.items()))


def visible(actor: Actor) -> ColumnElement[bool]:
    """The hosts that exist for this actor, as a condition on Host."""
    return scope_clause(actor.label_scope)


def hidden(actor: Actor) -> ColumnElement[bool]:
    """The hosts that do not exist for this actor; a host that lacks a label of the scope is one of them."""
    return visible(actor).is_not(true())


def visible_runs(actor: Actor) -> ColumnElement[bool]:
    """The runs that exist for this actor: on a visible host, or an import of their own without a host."""
    if actor.unrestricted:
        return true()
    own = select(Capture.id).where(Capture.requested_by == actor.id)
    return or_(
        Run.host_id.in_(select(Host.id).where(visible(actor))),
        and_(Run.host_id.is_(None), Run.capture_id.in_(own)),
    )


def visible_captures(actor: Actor) -> ColumnElement[bool]:
    """The captures with at least one run that exists for this actor."""
    if actor.unrestricted:
        return true()
    return Capture.id.in_(select(Run.capture_id).where(visible_runs(actor)))
