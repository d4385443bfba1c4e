"""What a capture needs beyond a role before it may stop a process with ptrace.

An administrator must have allowed it on that host, whoever asks must name one process and type the host's name,
and a person must be asking: schedules, triggers and tokens never do.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Tier
from collectors.scope import Scope
from culprit.kit.errors import Forbidden, Invalid
from culprit.models import Host


def permit_ptrace(tier: Tier, hosts: Sequence[Host], source: str, scope: Scope) -> None:
    """Raises Forbidden or Invalid where the tier is ptrace and these hosts, this source or scope do not suit it.

    Asked when a capture is previewed, when it is made, and once more before anything is sent to the host.
    """
    if tier is not Tier.PTRACE:
        return
    if source != "manual":
        raise Forbidden("capture.ptrace_not_by_hand", source=source)
    if scope.kind != "process":
        raise Invalid("capture.ptrace_one_process", kind=scope.kind)
    if len(hosts) != 1:
        raise Invalid("capture.ptrace_one_host", count=len(hosts))
    if not hosts[0].allows_ptrace:
        raise Forbidden("capture.ptrace_not_allowed", host=hosts[0].name)


def confirmed(tier: Tier, hosts: Sequence[Host], confirm: str | None) -> None:
    """Raises Invalid where the tier is ptrace and `confirm` is not the name of the host."""
    if tier is Tier.PTRACE and any(confirm != host.name for host in hosts):
        raise Invalid("capture.ptrace_unconfirmed", host=hosts[0].name)
