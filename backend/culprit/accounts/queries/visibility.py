"""Conditions that limit a SELECT to the hosts, runs and captures in an actor's label scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, and_, or_, select, true

from culprit.accounts.actor import Actor
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host


def scope_clause(scope: Mapping[str, Sequence[str]]) -> ColumnElement[bool]:
    """Return a label scope as a condition on Host.labels."""
    if not scope:
        return true()
    return and_(*(Host.labels[name].astext.in_(list(values)) for name, values in scope.items()))


def visible_hosts_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition on Host for the visible hosts of the actor."""
    return scope_clause(actor.label_scope)


def hidden_hosts_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition for hosts that the actor cannot see, including those without a label of the scope."""
    return visible_hosts_clause(actor).is_not(true())


def visible_runs_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition for visible runs: on a visible host, or an own import without a host."""
    if actor.unrestricted:
        return true()
    own = select(Capture.id).where(Capture.requested_by == actor.id)
    return or_(
        Run.host_id.in_(select(Host.id).where(visible_hosts_clause(actor))),
        and_(Run.host_id.is_(None), Run.capture_id.in_(own)),
    )


def visible_captures_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition for captures with at least one visible run."""
    if actor.unrestricted:
        return true()
    return Capture.id.in_(select(Run.capture_id).where(visible_runs_clause(actor)))
