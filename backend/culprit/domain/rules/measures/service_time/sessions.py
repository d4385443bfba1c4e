"""What the sessions of PostgreSQL wait for, by its own report, where samples of their threads cannot distinguish it.

A session that waits for a lightweight lock sleeps in a semaphore, one that waits for another transaction in an epoll,
like an idle background process. The server reports for each session which wait it is (pg_stat_activity: wait_event_type
and wait_event). A lock that is held while a page or the log is written to a disk, or read from it, is a wait for the
disk: those who queue for it continue when the disk has answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from culprit.domain.rules.measures.service_time.amounts import Amount, Key, add_amounts
from culprit.domain.rules.measures.service_time.services import LocalService
from culprit.domain.rules.view import HostView, TableRow
from culprit.domain.statistics.intervals import wilson_interval

#: Activities of threads that the report divides.
_UNCLEAR = frozenset(("semaphore", "park"))
#: Locks that are held for the time of a transfer, as PostgreSQL 10 to 17 name them.
_STORAGE_LOCKS = frozenset(("walwrite", "walwritelock", "bufferio", "buffer_io"))


def divide_by_sessions(
    view: HostView, service: LocalService, amounts: Mapping[Key, Amount]
) -> Mapping[Key, Amount]:
    """Return the amounts of a service with those that samples cannot distinguish divided as its sessions report.

    The bounds are those of a share of so many sessions (Wilson). Without a report, or for a service that it is not
    about, the amounts stay.
    """
    waiting = [
        row
        for row in view.rows("db_sessions")
        if row.text("state") == "active" and row.text("wait_type") and row.text("pid") in service.pids
    ]
    unclear = {key: amount for key, amount in amounts.items() if key[0] in _UNCLEAR}
    total = add_amounts(unclear.values())
    if not waiting or not total.number:
        return amounts
    counts = Counter(_classify(row) for row in waiting)
    divided = {key: amount for key, amount in amounts.items() if key not in unclear}
    for activity, count in counts.items():
        low, high = wilson_interval(count / len(waiting), len(waiting))
        part = Amount(
            total.number * count / len(waiting),
            total.number * low,
            total.number * high,
            len(waiting),
            total.longest_ms if activity in _UNCLEAR else 0.0,
            total.operation,
            total.citations,
        )
        same = [key for key in divided if key[0] == activity]
        key = max(same, key=lambda key: divided[key].number, default=(activity, ""))
        divided[key] = add_amounts([divided[key], part]) if key in divided else part
    return divided


def _classify(row: TableRow) -> str:
    """Return the activity of a session that waits."""
    kind, event = row.text("wait_type"), row.text("wait_event").lower()
    if kind == "IO" or event in _STORAGE_LOCKS:
        return "disk"
    return "semaphore" if kind == "LWLock" else "park"
