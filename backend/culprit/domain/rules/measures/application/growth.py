"""How much longer requests to a service wait than they did in the baseline of the same host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading, Subject
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.application.waits import count_samples, estimate_waiting, list_calls
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.service_time.accounts import TimeAccount
from culprit.domain.rules.measures.service_time.activities import INSIDE_WAITS
from culprit.domain.rules.measures.service_time.requests import select_rows
from culprit.domain.rules.measures.service_time.services import LocalService, index_rows, sum_column
from culprit.domain.rules.measures.service_time.shares import cite_time, get_service_times
from culprit.domain.rules.readings import cite_series, measure_spans_s, reduce_values
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_TRAFFIC = "tcp.out_segs_per_s"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A service in both captures: its account, and its connections now and in the baseline."""

    account: TimeAccount
    now: Sequence[TableRow]
    then: Sequence[TableRow]


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Traffic of the host as a multiple of that in the baseline: at least 1 where it grew, at most 1 where it fell."""

    grew: float
    fell: float


def _read_growth(view: HostView) -> Reading:
    """Return for each service with connections the mean time of a request, as a multiple of that in the baseline.

    By Little's law the mean number of waiting requests is their rate times their mean time. The rate of segments that
    the host sends is taken for the rate of requests: where it grew, the number grew as much without any delay. Where it
    fell, nothing is corrected, because requests that are slow or fail also send fewer segments.
    """
    return _compare_times(view, GROWTH.id, _measure_mean)


def _read_lowest_growth(view: HostView) -> Reading:
    """Return for each service how much longer its requests take than in the baseline, as far as the samples show.

    It is the lower bound of the time of a request, as a multiple of that in the baseline: up to 1, the samples do not
    show that requests take longer. Requests that are unread or not accepted wait too. A rate that fell is a longer
    time of each request; one that grew is not corrected, because other services may send more. There is one number for
    each process with a waiting request.
    """
    return _compare_times(view, LOWEST_GROWTH.id, _measure_lowest)


def _compare_times(
    view: HostView,
    measure: str,
    compare: Callable[[HostView, HostView, _Pair, _Traffic], Iterator[Measurement]],
) -> Reading:
    """Return what `compare` measures of each service, given its connections and the change of the host's traffic."""
    result = _find_baseline(view, measure)
    if isinstance(result, MissingData):
        return result
    before, traffic, citation = result
    return [
        replace(item, citations=(*item.citations, citation, *pair.account.sources))
        for pair in _list_pairs(view, before)
        for item in compare(view, before, pair, traffic)
    ]


def _read_peer_growth(view: HostView) -> Reading:
    """Return for each peer of a program how much longer its answers take, as `_read_lowest_growth` for requests.

    There is one number for each process that waits for the peer.
    """
    result = _find_baseline(view, PEER_GROWTH.id)
    if isinstance(result, MissingData):
        return result
    before, traffic, citation = result
    less = traffic.fell
    now, then = _group_calls(view), _group_calls(before)
    measurements = []
    for key, calls in now.items():
        rows, earlier = [row for row, _ in calls], [row for row, _ in then.get(key, ())]
        waits, waits_before = estimate_waiting(view, rows), estimate_waiting(before, earlier)
        if not earlier or waits_before.high <= 0 or less <= 0:
            continue
        detail: dict[str, str | int | float] = {
            "name": key[0], "peer": key[1], "waiting": round(sum_column(rows, "waiting"), 2),
            "before": round(sum_column(earlier, "waiting"), 2),
        }  # fmt: skip
        value, samples = waits.low / waits_before.high / less, count_samples(view)
        cites = (*cite_rows(rows), citation)
        waiting = [subject for row, subject in calls if row.number("waiting")]
        measurements += [Measurement(value, subject, cites, samples, (), detail) for subject in waiting]
    return measurements


def _read_inside_growth(view: HostView) -> Reading:
    """Return for each service how many requests wait inside its process, as a multiple of those in the baseline.

    They are in threads that wait for another thread of the process. A higher rate of requests makes them as many more.
    A service has no number where none waited inside before: then the baseline does not explain those of now.
    """
    result = _find_baseline(view, INSIDE_GROWTH.id)
    if isinstance(result, MissingData):
        return result
    before, traffic, citation = result
    measurements = []
    for account in get_service_times(view).accounts:
        accounts = get_service_times(before).accounts
        same = next((item for item in accounts if _is_same(account.service, item.service)), None)
        now, then = _sum_inside(account), _sum_inside(same) if same is not None else 0.0
        if then > 0:
            detail: dict[str, str | int | float] = {
                "name": account.service.name, "waiting": round(now, 2), "before": round(then, 2),
            }  # fmt: skip
            cites = (*cite_time(account), citation)
            value = now / then / traffic.grew
            measurements.append(
                Measurement(value, account.service.subject, cites, account.samples, (), detail)
            )
    return measurements


def _sum_inside(account: TimeAccount) -> float:
    return sum(amount.number for (activity, _), amount in account.amounts.items() if activity in INSIDE_WAITS)


def _group_calls(view: HostView) -> Mapping[tuple[str, str], list[tuple[TableRow, Subject]]]:
    """Return connections to peers by program and peer: a restart changes the processes."""
    groups: dict[tuple[str, str], list[tuple[TableRow, Subject]]] = defaultdict(list)
    for row, subject in list_calls(view):
        groups[row.text("comm"), row.text("peer")].append((row, subject))
    return groups


def _find_baseline(view: HostView, measure: str) -> tuple[HostView, _Traffic, Citation] | MissingData:
    """Return the baseline, how the traffic of the host differs from that in it, and the source of the traffic."""
    before = view.baseline
    if before is None or not before.rows("tcp_waits"):
        return MissingData(Sentence("missing.no_baseline", {"measure": measure}))
    now, then = read_sent_segments(view), read_sent_segments(before)
    if now is None or then is None:
        return MissingData(view.missing_reason(("snmp",)))
    mean, least = (new / old if old > 0 else 1.0 for new, old in zip(now[:2], then[:2], strict=True))
    # A few large answers make the mean of a short capture several times larger. Then the least rate stays as it was.
    return before, _Traffic(max(1.0, mean), min(1.0, max(mean, least))), now[2]


def _list_pairs(view: HostView, before: HostView) -> Iterator[_Pair]:
    known = get_service_times(before).services.services
    rows, rows_before = (index_rows(_list_inbound(item)) for item in (view, before))
    for account in get_service_times(view).accounts:
        same = next((item for item in known if _is_same(account.service, item)), None)
        mine = select_rows(rows, account.service)
        if same is not None and mine:
            yield _Pair(account, mine, select_rows(rows_before, same))


def _measure_mean(view: HostView, before: HostView, pair: _Pair, traffic: _Traffic) -> Iterator[Measurement]:
    more = traffic.grew
    now, then = estimate_waiting(view, pair.now), estimate_waiting(before, pair.then)
    if then.high <= 0:
        return
    interval = Interval(
        "sampled", now.low / then.high / more, now.high / then.low / more if then.low > 0 else np.inf
    )
    waiting, waiting_before = sum_column(pair.now, "waiting"), sum_column(pair.then, "waiting")
    value = waiting / (waiting_before or then.high) / more
    yield _build_measurement(pair, pair.account.service.subject, value, interval, (waiting, waiting_before))


def _measure_lowest(
    view: HostView, before: HostView, pair: _Pair, traffic: _Traffic
) -> Iterator[Measurement]:
    less = traffic.fell
    account = pair.account
    counted = _count_requests(pair.now)
    now, then = _estimate_requests(view, pair.now), _estimate_requests(before, pair.then)
    if not pair.then or then.high <= 0 or less <= 0:
        return
    # Requests that only callers or accept queues show have no samples of their own: all of them count.
    others = max(0.0, account.waiting + account.queued - counted)
    value = (now.low + others) / then.high / less
    waiting_pids = {row.text("pid") for row in pair.now if row.number("waiting") or row.number("unread")}
    subject = dict(account.service.subject)
    for pid in sorted({subject.get("pid", "")} | waiting_pids):
        place = tuple(sorted({**subject, "pid": pid}.items()))
        yield _build_measurement(pair, place, value, None, (counted + others, _count_requests(pair.then)))


def _build_measurement(
    pair: _Pair, subject: Subject, value: float, interval: Interval | None, counts: tuple[float, float]
) -> Measurement:
    """Return a measurement; `counts` are the requests that wait now and in the baseline."""
    detail: dict[str, str | int | float] = {
        "name": pair.account.service.name, "waiting": round(counts[0], 2), "before": round(counts[1], 2),
    }  # fmt: skip
    samples = int(sum_column(pair.now, "samples"))
    return Measurement(value, subject, cite_rows(pair.now), samples, (), detail, interval)


def _count_requests(rows: Sequence[TableRow]) -> float:
    return sum_column(rows, "waiting") + sum_column(rows, "unread")


def _estimate_requests(view: HostView, rows: Sequence[TableRow]) -> Interval:
    """Return the interval of the mean number of requests that are not answered or not read."""
    taken, unread = estimate_waiting(view, rows), estimate_waiting(view, rows, "unread")
    return Interval("sampled", taken.low + unread.low, taken.high + unread.high)


def _list_inbound(view: HostView) -> Sequence[TableRow]:
    return [row for row in view.rows("tcp_waits") if row.text("direction") == "in"]


def read_sent_segments(view: HostView) -> tuple[float, float, Citation] | None:
    """Return the mean and the least rate of sent TCP segments of the host, and their source."""
    series = next(iter(view.series_of(_TRAFFIC)), None)
    rows = np.flatnonzero(~np.isnan(series.values[:, 0])) if series is not None else np.array([], np.intp)
    if series is None or not len(rows):
        return None
    values = series.values[:, 0]
    mean = reduce_values(values[rows], "mean", measure_spans_s(series.t_ns[rows]))
    return mean, float(values[rows].min()), cite_series(series, values, rows, "mean")


def _is_same(service: LocalService, other: LocalService) -> bool:
    """Return whether two captures show the same service: a restart changes its processes, not its name and ports."""
    return bool(service.name == other.name and service.ports & other.ports)


_SOURCES = (("tcp_waits",), ("snmp",), ("proc_threads",))
GROWTH = Measure(
    "service.request_time_ratio", "ratio", Text("Time of a request against the baseline", "请求耗时与基线之比"),
    _SOURCES, _read_growth,
)  # fmt: skip
LOWEST_GROWTH = Measure(
    "service.request_time_ratio_least", "ratio",
    Text("Least time of a request against the baseline", "请求耗时与基线之比的下限"), _SOURCES, _read_lowest_growth,
)  # fmt: skip
INSIDE_GROWTH = Measure(
    "service.inside_waits_ratio", "ratio",
    Text("Requests that wait inside the process against the baseline", "进程内部等待的请求数与基线之比"),
    _SOURCES, _read_inside_growth,
)  # fmt: skip
PEER_GROWTH = Measure(
    "peer.answer_time_ratio_least", "ratio",
    Text("Least time of an answer against the baseline", "应答耗时与基线之比的下限"),
    (("tcp_waits",), ("snmp",)), _read_peer_growth,
)  # fmt: skip
