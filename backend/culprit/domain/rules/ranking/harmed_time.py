"""Which services are harmed, whether a cause is at one of them, and how much of their time it explains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import Finding, Subject
from culprit.domain.rules.measures.cpu.turns import bound_holder, is_turn, share_turns
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.activities import (
    AIO,
    AMBIGUOUS,
    PEER,
    RUNNABLE,
    RUNNING,
    THROTTLED,
)
from culprit.domain.rules.measures.service_time.amounts import NO_SHARE, Share
from culprit.domain.rules.readings import is_compatible

#: A cause that explains less of the time of a harmed service than this is only possible. Source: a tenth of a delay
#: is below what people notice (Weber fraction of durations, about 10 %: Getty 1975, Grondin 2010).
MINOR_SHARE = 0.1
#: Activities of threads that wait until another thread of the service goes on.
_LOCKS = frozenset(("lock", "semaphore"))


@dataclass(frozen=True, slots=True)
class TimeClaim:
    """What a cause claims: that requests at this place are slow through these mechanisms.

    With `stops_program`, requests that queue although threads are free wait for it too: nothing else keeps a free
    thread from taking them. Requests in threads that look idle may wait for it.
    """

    mechanisms: frozenset[str]
    scope: Subject
    stops_program: bool = False


def build_claim(cause: Cause, scope: Subject) -> TimeClaim:
    """Return what a cause at a place claims."""
    peer = (PEER,) if cause.waits_for_peer and "dst" in dict(scope) else ()
    finished = (AIO,) if "disk" in cause.mechanisms else ()
    return TimeClaim(frozenset((*cause.mechanisms, *peer, *finished)), scope, cause.stops_program)


@dataclass(frozen=True, slots=True)
class HarmedTime:
    """The findings that show harm, and the time accounts of the services that they are about."""

    harm: tuple[Finding, ...]
    times: ServiceTimes

    @property
    def accounts(self) -> list[TimeAccount]:
        """The accounts of harmed services, the most harmed first."""
        return [
            account
            for account in self.times.accounts
            if any(self._is_about(item.subject, account) for item in self.harm)
        ]

    def is_harmed(self, scope: Subject, is_relevant: Callable[[Finding], bool]) -> bool:
        """Return whether relevant harm is shown where a cause is: at the same place, or at a service that waits for it.

        Harm to the whole host does not show who is worse off. It counts for a cause at a place only if no harm names
        a place.
        """
        placed = [item for item in self.harm if has_place(item.subject)]
        harm = placed if placed and has_place(scope) else self.harm
        return any(is_relevant(item) and self._is_reached(item.subject, scope) for item in harm)

    def compute_share(self, claim: TimeClaim, *, is_harm: bool = False) -> Share | None:
        """Return the share of the time of a harmed service that a claim explains.

        The service is the most harmed one that includes the place of the claim or waits for it; for a claim about the
        whole host, the one of which it explains most. None if there is none, or the cause states no mechanism.

        Harm to the whole host does not name its service. Then it is one of those that lose time: harm that passes
        through none of their waits for a resource is not harm by this resource, however full it is. With `is_harm`, the
        evidence of the cause is the harm itself, and no service needs to show it.
        """
        if not claim.mechanisms:
            return None
        accounts = self.accounts
        suspects = [] if accounts or is_harm else self._list_suspects()
        shares = [
            self._explain(account, (claim,), ())
            for account in accounts or suspects
            if any(item.service.has_place(claim.scope) for item in self.times.list_chain(account))
        ]
        if shares and accounts and has_place(claim.scope):
            return shares[0]
        return max(shares, key=lambda share: share.value, default=NO_SHARE if suspects else None)

    def _list_suspects(self) -> list[TimeAccount]:
        """Return the services that lose time, if harm is shown and names no place."""
        if not self.harm or any(has_place(item.subject) for item in self.harm):
            return []
        return [account for account in self.times.accounts if account.total >= MINOR_SHARE]

    def compute_unexplained(self, claims: Sequence[TimeClaim]) -> float | None:
        """Return the share of the time of the most harmed service that no claim explains, 0 to 1.

        That a service on this host answers late explains nothing here: its own account continues. None if the time is
        not accounted for, or a claim states no mechanism.
        """
        accounts = self.accounts
        if not accounts or not all(claim.mechanisms for claim in claims):
            return None
        return max(0.0, 1.0 - self._explain(accounts[0], claims, (), is_deep=True).value)

    def _explain(
        self,
        account: TimeAccount,
        claims: Sequence[TimeClaim],
        path: Collection[frozenset[str]],
        *,
        is_deep: bool = False,
    ) -> Share:
        """Return the share that claims explain, following waits for local services; a circle ends at its start.

        With `is_deep`, no claim explains a wait for a service that has an account.
        """
        explained = {
            key
            for key in account.amounts
            if any(_is_claimed(claim, account, *key) for claim in claims)
            and not (is_deep and key[0] == PEER and self._find_callee(account, key[1]))
        }
        total = account.share(lambda activity, target: (activity, target) in explained)
        parts = [total] if explained else []
        if (RUNNING, "") in explained and (RUNNABLE, "") not in explained:
            parts.append(_wait_for_itself(account))
        if any(claim.stops_program and account.service.has_place(claim.scope) for claim in claims):
            queued = 1.0 - account.covered
            parts += [Share(queued, queued, queued), _may_be_stopped(account, explained)]
        seen = (*path, account.service.pids)
        for target in account.callees:
            below = self._find_callee(account, target)
            if (PEER, target) in explained or below is None or below.service.pids in seen:
                continue
            inside = self._explain(below, claims, seen, is_deep=is_deep)
            wait = account.share_of(PEER, target)
            parts.append(Share(wait.value * inside.value, wait.low * inside.low, wait.high * inside.high))
        return _add_waiters(_add_shares(parts), account, explained)

    def _find_callee(self, account: TimeAccount, target: str) -> TimeAccount | None:
        callee = account.callees.get(target)
        return None if callee is None else self.times.find(callee)

    def _is_about(self, subject: Subject, account: TimeAccount) -> bool:
        return has_place(subject) and account.service.has_place(subject)

    def _is_reached(self, harmed: Subject, scope: Subject) -> bool:
        service = self.times.services.find_by_pid(dict(harmed).get("pid", ""))
        if service is None or not has_place(scope):
            return is_compatible(scope, harmed)
        if service.has_place(scope):
            return True
        account = self.times.find(service)
        return account is not None and any(
            item.service.has_place(scope) for item in self.times.list_chain(account)
        )


def has_place(subject: Subject) -> bool:
    """Return whether a subject names a process, a control group or a port; otherwise it is about the whole host."""
    return bool({"pid", "cgroup", "port"} & dict(subject).keys())


def _is_claimed(claim: TimeClaim, account: TimeAccount, activity: str, target: str) -> bool:
    if activity not in claim.mechanisms or not account.service.has_place(claim.scope):
        return False
    destination = dict(claim.scope).get("dst")
    return activity != PEER or destination is None or destination == target


def _may_be_stopped(account: TimeAccount, explained: Collection[tuple[str, str]]) -> Share:
    """Return the share of requests in threads that look idle: a thread of a program that is stopped looks like this.

    The lower end is none of it, because such a request may wait for anything else.
    """
    idle = account.share(
        lambda activity, target: activity in AMBIGUOUS and (activity, target) not in explained
    )
    return Share(idle.value, 0.0, idle.high)


def _wait_for_itself(account: TimeAccount) -> Share:
    """Return the share of the time in which threads wait for a CPU on which their own service runs.

    None of it where a quota holds them back: then the turn of a thread ends for the quota, and CPUs may be idle.
    """
    if any(activity == THROTTLED for activity, _ in account.amounts):
        return NO_SHARE
    own = max(0.0, 1.0 - sum(user.share for user in account.ran_instead))
    return account.share_of(RUNNABLE, "").scale(own)


def _add_waiters(share: Share, account: TimeAccount, explained: Collection[tuple[str, str]]) -> Share:
    """Return a share with the threads that wait for a lock: they wait for what its holder does.

    The holder is one of the other threads that are busy, as far as there is one at a time, and nothing shows which. So
    the lower end stays, unless about one of them works at a time, nearly always: then it is this one.
    """
    turns, sure = share_turns(account)
    waiters = account.share(
        lambda activity, target: activity in _LOCKS and (activity, target) not in explained
    )
    if any(is_turn(*key) for key in explained):
        turns = sure = NO_SHARE
    waiting = max(waiters.value, turns.value)
    others = account.covered - waiting
    if share.value <= 0 or others <= 0:
        return share
    holders = min(1.0, others / account.covered * account.total)
    factor = 1.0 + waiting * holders / others
    least = 1.0 + sure.low / max(others, account.covered - sure.low)
    low = max(share.low * least, sure.low * bound_holder(account, explained))
    return Share(
        min(1.0, share.value * factor), min(1.0, low, share.value * factor), min(1.0, share.high * factor)
    )


def _add_shares(shares: Iterable[Share]) -> Share:
    total = NO_SHARE
    for share in shares:
        total = Share(total.value + share.value, total.low + share.low, total.high + share.high)
    return Share(min(1.0, total.value), min(1.0, total.low), min(1.0, total.high))
