"""Time of threads that wait for their turn inside a program, behind the single thread of it that works.

Behind a lock, and behind a thread that writes for all others, one thread works at a time. Then all of them wait for
what this one does, so that their time is divided as its time is: a queue waits for its server (Little 1961). Where
several threads work at once, nothing shows for which of them the others wait.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.activities import AMBIGUOUS, INSIDE_WAITS, LOCK
from culprit.domain.rules.measures.service_time.amounts import (
    NO_SHARE,
    Key,
    Share,
    add_amounts,
    compute_share,
)
from culprit.domain.rules.measures.service_time.shares import (
    NEEDS,
    SINGLE_THREAD,
    Detail,
    cite_time,
    read_accounts,
)
from culprit.domain.rules.measures.service_time.thread_amounts import BUSY_SERVER, MOST_THREADS, is_path
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

_DISK = "disk"
#: Idle activities in which a thread may hold a lock.
_MAY_HOLD = AMBIGUOUS - INSIDE_WAITS
#: With so many threads in a queue on average, one of them is there at nearly any time.
SEVERAL = 2.0


def is_turn(activity: str, target: str) -> bool:
    """Return whether threads in an activity wait for another thread of their program."""
    return activity in {LOCK, *INSIDE_WAITS} and not is_path(target)


def is_sure_turn(activity: str, target: str) -> bool:
    """Return whether such a wait is that of one lock or one condition, and of no timer.

    Idle threads and requests that wait for an event have a condition each, so that no single address is known.
    """
    return is_turn(activity, target) and (activity in {LOCK, "semaphore"} or target != "")


def is_single_server(account: TimeAccount) -> bool:
    """Return whether about one thread of a service works at a time, nearly always.

    Where several threads always wait for a lock, it is always held: then it is enough to have seen most of the time of
    the thread that works.
    """
    working = add_amounts(amount for key, amount in account.amounts.items() if not is_turn(*key))
    waiting = add_amounts(amount for key, amount in account.amounts.items() if is_sure_turn(*key))
    least = MOST_THREADS if waiting.low >= SEVERAL else BUSY_SERVER
    return least <= working.number <= SINGLE_THREAD


def share_turns(account: TimeAccount) -> tuple[Share, Share]:
    """Return the share of waits for a turn, and that of those which no timer explains; none without a single server."""
    if not is_single_server(account):
        return NO_SHARE, NO_SHARE
    return account.share(is_turn), account.share(is_sure_turn)


def bound_holder(account: TimeAccount, keys: Collection[Key]) -> float:
    """Return for which part of the time the holder of a lock is in one of these activities, at least.

    A lock for which several threads always wait has a holder at any time. It runs, or is in one of the waits that were
    seen, and most of them are these. What may be any other one is subtracted. A thread that sleeps may hold it too, one
    that waits for a connection does not.
    """
    amounts = account.amounts
    waiting = add_amounts(amount for key, amount in amounts.items() if is_sure_turn(*key))
    if waiting.low < SEVERAL or not is_single_server(account):
        return 0.0
    working = {key: amount for key, amount in amounts.items() if not is_turn(*key)}
    mine = sum(amount.number for key, amount in working.items() if key in keys)
    if mine < MOST_THREADS * sum(amount.number for amount in working.values()):
        return 0.0
    others = sum(amount.high for key, amount in working.items() if key not in keys)
    sleeping = sum(amount.number for (name, _), amount in account.idle.items() if name in _MAY_HOLD)
    return max(0.0, 1.0 - others - sleeping)


def share_with_turns(account: TimeAccount, keys: set[Key]) -> Share:
    """Return the share of activities with their part of the waits for a turn behind a single server."""
    own = account.share(lambda *key: key in keys)
    turns, sure = share_turns(account)
    if turns.high <= 0:
        return own
    working = {key: amount for key, amount in account.amounts.items() if not is_turn(*key)}
    part = compute_share(working, lambda *key: key in keys)
    return Share(
        own.value + turns.value * part.value,
        own.low + sure.low * max(part.low, bound_holder(account, keys)),
        min(1.0, own.high + turns.high * part.high),
    )


def _disk(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the time of a service that is spent at disks, or in waiting for a thread that is there."""
    del view, times
    keys = {key for key in account.amounts if key[0] == _DISK}
    if sum(account.amounts[key].number for key in keys) < LEAST_WAITING:
        return
    share = share_with_turns(account, keys)
    detail: Detail = {"name": account.service.name}
    interval = Interval("sampled", 100.0 * share.low, 100.0 * share.high)
    yield Measurement(
        100.0 * share.value,
        account.service.subject,
        cite_time(account),
        account.samples,
        (),
        detail,
        interval,
    )


DISK_WITH_TURNS = Measure(
    "time.disk_with_turns_pct",
    "pct",
    Text("Time for a disk, or for the turn at it", "等待磁盘或等待轮到使用磁盘的时间"),
    NEEDS,
    read_accounts(_disk),
)
