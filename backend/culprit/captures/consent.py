"""Conditions for captures of tier ptrace.

An admin must have allowed ptrace on the host, the requester must select one process and type the name of the
host, and a person must make the request: schedules, triggers and tokens cannot.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Tier
from collectors.runner.scope import Scope
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import ForbiddenError, InvalidRequestError


def require_ptrace_permitted(tier: Tier, hosts: Sequence[Host], source: str, scope: Scope) -> None:
    """Check that a capture of tier ptrace is allowed with these hosts, this source and this scope.

    Called when a capture is previewed, when it is created, and again before anything is sent to the host.

    Raises:
        ForbiddenError: the source or the host does not allow ptrace.
        InvalidRequestError: the scope is not one process, or there is more than one host.
    """
    if tier is not Tier.PTRACE:
        return
    if source != "manual":
        raise ForbiddenError("capture.ptrace_not_by_hand", source=source)
    if scope.kind != "process":
        raise InvalidRequestError("capture.ptrace_one_process", kind=scope.kind)
    if len(hosts) != 1:
        raise InvalidRequestError("capture.ptrace_one_host", count=len(hosts))
    if not hosts[0].allows_ptrace:
        raise ForbiddenError("capture.ptrace_not_allowed", host=hosts[0].name)


def require_confirmation(tier: Tier, hosts: Sequence[Host], confirm: str | None) -> None:
    """Raise InvalidRequestError if the tier is ptrace and `confirm` is not the name of the host."""
    if tier is Tier.PTRACE and any(confirm != host.name for host in hosts):
        raise InvalidRequestError("capture.ptrace_unconfirmed", host=hosts[0].name)
