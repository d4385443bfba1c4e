"""Which services are harmed, whether a cause is at one of them, and how much of their time it explains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from culprit.domain.rules.finding import Finding, Subject
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.activities import PEER
from culprit.domain.rules.measures.service_time.amounts import NO_SHARE, Share
from culprit.domain.rules.readings import is_compatible

#: A cause that explains less of the time of a harmed service than this is only possible. Source: a tenth of a delay
#: is below what people notice (Weber fraction of durations, about 10 %: Getty 1975, Grondin 2010).
MINOR_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class TimeClaim:
    """What a cause claims: that requests at this place are slow through these mechanisms."""

    mechanisms: frozenset[str]
    scope: Subject


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

    def is_harmed(self, scope: Subject) -> bool:
        """Return whether harm is shown where a cause is: at the same place, or at a service that waits for it."""
        return any(self._is_reached(item.subject, scope) for item in self.harm)

    def compute_share(self, claim: TimeClaim) -> Share | None:
        """Return the share of the time of a harmed service that a claim explains, of the service where it is largest.

        None if the time of no harmed service is accounted for at that place, or the cause states no mechanism.
        """
        if not claim.mechanisms:
            return None
        shares = [
            self._explain(account, (claim,), ())
            for account in self.accounts
            if any(item.service.has_place(claim.scope) for item in self.times.list_chain(account))
        ]
        return max(shares, key=lambda share: share.value, default=None)

    def compute_unexplained(self, claims: Sequence[TimeClaim]) -> float | None:
        """Return the share of the time of the most harmed service that no claim explains, 0 to 1.

        None if its time is not accounted for, or a claim states no mechanism.
        """
        accounts = self.accounts
        if not accounts or not all(claim.mechanisms for claim in claims):
            return None
        return max(0.0, 1.0 - self._explain(accounts[0], claims, ()).value)

    def _explain(
        self, account: TimeAccount, claims: Sequence[TimeClaim], path: Collection[frozenset[str]]
    ) -> Share:
        """Return the share that claims explain, following waits for local services; a circle ends at its start."""
        explained = {
            key for key in account.amounts if any(_is_claimed(claim, account, *key) for claim in claims)
        }
        total = account.share(lambda activity, target: (activity, target) in explained)
        parts = [total] if explained else []
        seen = (*path, account.service.pids)
        for target, callee in account.callees.items():
            below = self.times.find(callee)
            if (PEER, target) in explained or below is None or callee.pids in seen:
                continue
            inside = self._explain(below, claims, seen)
            wait = account.share_of(PEER, target)
            parts.append(Share(wait.value * inside.value, wait.low * inside.low, wait.high * inside.high))
        return _add_shares(parts)

    def _is_about(self, subject: Subject, account: TimeAccount) -> bool:
        place = dict(subject)
        return bool({"pid", "port", "cgroup"} & place.keys()) and account.service.has_place(subject)

    def _is_reached(self, harmed: Subject, scope: Subject) -> bool:
        service = self.times.services.find_by_pid(dict(harmed).get("pid", ""))
        if service is None or not {"pid", "cgroup", "port"} & dict(scope).keys():
            return is_compatible(scope, harmed)
        if service.has_place(scope):
            return True
        account = self.times.find(service)
        return account is not None and any(
            item.service.has_place(scope) for item in self.times.list_chain(account)
        )


def _is_claimed(claim: TimeClaim, account: TimeAccount, activity: str, target: str) -> bool:
    if activity not in claim.mechanisms or not account.service.has_place(claim.scope):
        return False
    destination = dict(claim.scope).get("dst")
    return activity != PEER or destination is None or destination == target


def _add_shares(shares: Iterable[Share]) -> Share:
    total = NO_SHARE
    for share in shares:
        total = Share(total.value + share.value, total.low + share.low, total.high + share.high)
    return Share(min(1.0, total.value), min(1.0, total.low), min(1.0, total.high))
