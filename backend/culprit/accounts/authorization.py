"""Authorization: one table of actions and one function that decides.

`authorize` is called on every route and again in jobs, because a role can change in between.
`queries.visibility.visible_hosts_clause` is part of every list query, so that objects out of scope are not
found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culprit.accounts.actor import Actor, limit_role, rank_role
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import ForbiddenError, NotFoundError

# The lowest role that is permitted each action.
ACTIONS: Mapping[str, str] = {
    "host.read": "viewer",
    "capture.read": "viewer",
    "profile.read": "viewer",
    "service.read": "viewer",
    "artifact.read": "investigator",  # raw bytes can hold more than the screens show
    "capture.light": "investigator",
    "capture.standard": "investigator",
    "capture.deep": "oncall",
    "capture.ptrace": "admin",
    "capture.cancel": "investigator",
    "capture.import": "investigator",
    "profile.compare": "investigator",
    "profile.disassemble": "investigator",  # the code of programs, as raw bytes
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
    "report.names": "investigator",  # the original text of a pseudonym
    "report.share": "investigator",
    "report.approve": "oncall",
    "kill_switch.read": "viewer",
    "kill_switch.manage": "admin",
    "watcher.read": "viewer",
    "watcher.conditional": "oncall",
    "watcher.lookback": "oncall",
    "trigger.read": "viewer",
    "trigger.manage": "oncall",
    "tier.allow": "admin",
    "channel.read": "oncall",
    "channel.manage": "admin",
    "notification.read": "oncall",
    "event.read": "viewer",
    "event.report": "investigator",  # also update or withdraw own events
    "event.manage": "oncall",  # events that others reported
    "host.check": "investigator",
    "demo.load": "investigator",
    "host.add": "admin",
    "host.edit": "admin",
    "host.trust_key": "admin",
    "host.retire": "admin",
    "credential.manage": "admin",
    "network.manage": "admin",
    "debuginfod.manage": "admin",
    "service.manage": "admin",
    "sign_in.manage": "admin",
    "storage.read": "admin",
    "storage.manage": "admin",
    "user.manage": "admin",
    "audit.read": "admin",
    "token.own": "viewer",
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """Permissions of a token for one purpose: its actions, and the routes below these paths."""

    paths: tuple[str, ...]
    actions: frozenset[str]

    def allows_path(self, path: str) -> bool:
        """Return whether a request to `path` is within the purpose."""
        return any(path == item or path.startswith(f"{item}/") for item in self.paths)


PURPOSES: Mapping[str, Purpose] = {
    "events": Purpose(("/api/v1/reported-events",), frozenset({"event.report"}))
}
"""Permissions by purpose of a token. The paths also restrict routes that do not call `authorize`."""


def is_allowed(actor: Actor, action: str) -> bool:
    """Return whether the role permits the action. Unknown actions are refused; admin actions need full scope."""
    if actor.only is not None and action not in actor.only:
        return False
    lowest = ACTIONS.get(action)
    return lowest is not None and rank_role(limit_role(actor.role, actor.label_scope)) >= rank_role(lowest)


def list_allowed_actions(actor: Actor) -> list[str]:
    """Return all permitted actions, for clients that hide controls."""
    return sorted(action for action in ACTIONS if is_allowed(actor, action))


def is_in_scope(actor: Actor, labels: Mapping[str, Any]) -> bool:
    """Return whether a host with these labels is in the actor's scope, as in `visible_hosts_clause`."""
    return all(labels.get(name) in values for name, values in actor.label_scope.items())


def can_see_all_with_labels(
    actor: Actor, labels: Mapping[str, str], within: Mapping[str, Sequence[str]] | None = None
) -> bool:
    """Return whether the actor's scope includes every host that can have these labels.

    `within` is a label scope that limits those hosts further: that of the account in whose name an action
    runs.
    """
    possible = {**(within or {}), **{name: [value] for name, value in labels.items()}}
    return all(
        name in possible and set(possible[name]) <= set(values) for name, values in actor.label_scope.items()
    )


def require_covered(actor: Actor, *, covered: bool) -> None:
    """Raise ForbiddenError if a visible object reaches hosts outside the actor's scope."""
    if not covered:
        scope = "; ".join(f"{name}={','.join(values)}" for name, values in sorted(actor.label_scope.items()))
        raise ForbiddenError("auth.outside_scope", scope=scope)


def authorize(actor: Actor, action: str, resource: Host | None = None) -> None:
    """Permit `actor` to do `action` (on `resource`), or raise.

    Raises NotFoundError for a host out of scope (its existence is not revealed), ForbiddenError if the role
    is too low.
    """
    if resource is not None and not is_in_scope(actor, resource.labels):
        raise NotFoundError("host.not_found")
    if actor.only is not None and action not in actor.only:
        raise ForbiddenError("auth.token_purpose", action=action)
    if not is_allowed(actor, action):
        raise ForbiddenError(
            "auth.role_too_low", action=action, role=actor.role, needs=ACTIONS.get(action, "nobody")
        )
