"""Measures of the calls of a service to one remote peer: how long one takes, and its part of a request."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.activities import PEER
from culprit.domain.rules.measures.service_time.amounts import Amount
from culprit.domain.rules.measures.service_time.shares import NEEDS, cite_time, read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView


def _list_remote(times: ServiceTimes, account: TimeAccount) -> Iterator[tuple[Subject, Amount]]:
    """Yield the subject and the amount of each wait for a remote peer that is not negligible."""
    for (activity, target), amount in account.amounts.items():
        is_remote = activity == PEER and times.services.find_by_target(target) is None
        if is_remote and amount.number >= LEAST_WAITING:
            place = (*account.service.subject, ("dst", target)) if target else account.service.subject
            yield tuple(sorted(place)), amount


def _longest(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Milliseconds of the longest single wait for the peer that was seen."""
    del view
    for subject, amount in _list_remote(times, account):
        yield Measurement(amount.longest_ms, subject, cite_time(account), account.samples)


def _part_of_request(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the time of a request, with the time in the queue before a worker takes it, by Little's law."""
    del view
    for subject, amount in _list_remote(times, account):
        every = account.total + account.queued
        value, low, high = (
            min(100.0, 100.0 * end / every) for end in (amount.number, amount.low, amount.high)
        )
        cites = (*cite_time(account), *account.citations)
        interval = Interval("sampled", low, high)
        yield Measurement(value, subject, cites, account.samples, interval=interval)


LONGEST = Measure(
    "time.remote_peer_longest_ms",
    "ms",
    Text("Longest wait for the remote peer", "等待远端最久的时间"),
    NEEDS,
    read_accounts(_longest),
)
PART_OF_REQUEST = Measure(
    "time.remote_peer_of_request_pct",
    "pct",
    Text("Part of a request, with its time in the queue", "占请求总时间（含排队）"),
    NEEDS,
    read_accounts(_part_of_request),
)
