"""How much longer requests to a service wait than they did in the baseline of the same host."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.application.waits import estimate_waiting
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.service_time.requests import select_rows
from culprit.domain.rules.measures.service_time.services import LocalService, index_rows, sum_column
from culprit.domain.rules.measures.service_time.shares import get_service_times
from culprit.domain.rules.readings import cite_series, measure_spans_s, reduce_values
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_TRAFFIC = "tcp.out_segs_per_s"


def _read_growth(view: HostView) -> Reading:
    """Return for each service with connections the mean time of a request, as a multiple of that in the baseline.

    By Little's law the mean number of waiting requests is their rate times their mean time. The rate of segments that
    the host sends is taken for the rate of requests: where it grew, the number grew as much without any delay. Where it
    fell, nothing is corrected, because requests that are slow or fail also send fewer segments.
    """
    before = view.baseline
    if before is None or not before.rows("tcp_waits"):
        return MissingData(Sentence("missing.no_baseline", {"measure": GROWTH.id}))
    traffic, traffic_before = _read_traffic(view), _read_traffic(before)
    if traffic is None or traffic_before is None:
        return MissingData(view.missing_reason(("snmp",)))
    more = max(1.0, traffic[0] / traffic_before[0]) if traffic_before[0] > 0 else 1.0
    known = get_service_times(before).services.services
    rows, rows_before = (index_rows(_list_inbound(item)) for item in (view, before))
    measurements = []
    for account in get_service_times(view).accounts:
        service = account.service
        same = next((item for item in known if _is_same(service, item)), None)
        mine = select_rows(rows, service)
        if same is None or not mine:
            continue
        earlier = select_rows(rows_before, same)
        waiting, waiting_before = sum_column(mine, "waiting"), sum_column(earlier, "waiting")
        now, then = estimate_waiting(view, mine), estimate_waiting(before, earlier)
        if then.high <= 0:
            continue
        interval = Interval(
            "sampled", now.low / then.high / more, now.high / then.low / more if then.low > 0 else np.inf
        )
        value = waiting / (waiting_before or then.high) / more
        samples = int(sum_column(mine, "samples"))
        detail: dict[str, str | int | float] = {
            "name": service.name, "waiting": round(waiting, 2), "before": round(waiting_before, 2),
        }  # fmt: skip
        cites = (*cite_rows(mine), traffic[1], *account.sources)
        measurements.append(Measurement(value, service.subject, cites, samples, (), detail, interval))
    return measurements


def _list_inbound(view: HostView) -> Sequence[TableRow]:
    return [row for row in view.rows("tcp_waits") if row.text("direction") == "in"]


def _read_traffic(view: HostView) -> tuple[float, Citation] | None:
    """Return the mean rate of sent TCP segments of the host, and its source."""
    series = next(iter(view.series_of(_TRAFFIC)), None)
    rows = np.flatnonzero(~np.isnan(series.values[:, 0])) if series is not None else np.array([], np.intp)
    if series is None or not len(rows):
        return None
    values = series.values[:, 0]
    mean = reduce_values(values[rows], "mean", measure_spans_s(series.t_ns[rows]))
    return mean, cite_series(series, values, rows, "mean")


def _is_same(service: LocalService, other: LocalService) -> bool:
    """Return whether two captures show the same service: a restart changes its processes, not its name and ports."""
    return bool(service.name == other.name and service.ports & other.ports)


GROWTH = Measure(
    "service.request_time_ratio", "ratio", Text("Time of a request against the baseline", "请求耗时与基线之比"),
    (("tcp_waits",), ("snmp",), ("proc_threads",)), _read_growth,
)  # fmt: skip
