"""Whether more workers would help: what busy threads wait for has room, or all of them wait for the same thing.

A queue in front of busy workers shows that requests wait. That the workers are too few is another claim: with more of
them, more requests would be answered (the utilization law, Denning and Buzen 1978: a station that is saturated answers
no more, however many customers wait at it).
"""

from __future__ import annotations

from culprit.domain.rules.finding import Subject
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.activities import (
    PEER,
    RUNNABLE,
    STOPPED,
    THROTTLED,
    UNKNOWN,
    classify_activity,
)

#: Threads in one of these wait until something that they share goes on: a lock, a device, a file system, a quota, the
#: one who stopped them. One more thread waits for it too.
_SHARED = frozenset(
    ("lock", "semaphore", "disk", "fault", "filesystem", "permission", RUNNABLE, THROTTLED, STOPPED)
)
#: A request that a local service holds in one of these waits for another thread of that service, or for what nothing
#: shows. That this has room is not shown.
_INSIDE_CALLEE = frozenset(("condition", "park", UNKNOWN))
#: More than half of the time decides which of two explanations is the larger one.
_MOST = 0.5


def lacks_room(scope: Subject, times: ServiceTimes) -> bool:
    """Return whether the workers at a place spend most of their time on what one more worker would wait for as well.

    False where their time is not accounted for.
    """
    account = _find_account(scope, times)
    return account is not None and _sum_shared(account, times, ()) > _MOST


def _find_account(scope: Subject, times: ServiceTimes) -> TimeAccount | None:
    place = dict(scope)
    service = times.services.find_by_pid(place.get("pid", ""))
    if service is None and "listener" in place:
        service = times.services.find_by_target(place["listener"])
    return None if service is None else times.find(service)


def _sum_shared(account: TimeAccount, times: ServiceTimes, path: tuple[frozenset[str], ...]) -> float:
    """Return the part of the time for what threads share, in a service and in the local services that it waits for."""

    def is_shared(activity: str, target: str) -> bool:
        if activity == "pipe":
            return classify_activity(activity, account.amounts[activity, target].operation) == "busy"
        return activity in _SHARED or (bool(path) and activity in _INSIDE_CALLEE)

    total = account.share(is_shared).value
    seen = (*path, account.service.pids)
    for target, service in account.callees.items():
        below = times.find(service)
        if below is not None and below.service.pids not in seen:
            total += account.share_of(PEER, target).value * _sum_shared(below, times, seen)
    return total
