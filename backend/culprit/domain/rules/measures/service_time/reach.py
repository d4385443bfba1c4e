"""Which control groups matter to what a capture was about: its own, and those of the services that it waits for."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from culprit.domain.rules.measures.places import get_target_group, is_inside_group
from culprit.domain.rules.measures.service_time.shares import get_service_times
from culprit.domain.rules.view import HostView, TableRow

_groups: WeakKeyDictionary[HostView, frozenset[str]] = WeakKeyDictionary()


def is_relevant_group(view: HostView, path: str) -> bool:
    """Return whether a control group matters: every group if the capture was about the whole host.

    Limits apply to all groups below them, so groups above and below a group that matters do too.
    """
    target = get_target_group(view)
    return not target or any(
        is_inside_group(path, group) or is_inside_group(group, path)
        for group in (target, *_list_groups_of_callees(view))
    )


def limited_groups(view: HostView) -> list[TableRow]:
    """Return the rows of `cgroup_mem` of the groups that matter and have a memory limit of their own."""
    return [
        row
        for row in view.rows("cgroup_mem")
        if row.number("limit_kb") is not None and is_relevant_group(view, row.text("path"))
    ]


def _list_groups_of_callees(view: HostView) -> frozenset[str]:
    """Return the groups of the services for which the target waits, directly or through others."""
    if view not in _groups:
        times = get_service_times(view)
        chain = [
            item for account in times.accounts if account.is_target for item in times.list_chain(account)
        ]
        _groups[view] = frozenset(item.service.group for item in chain if item.service.group)
    return _groups[view]
