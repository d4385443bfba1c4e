"""What a load generator measured, in one form: the table `load_test`, and series where requests have times."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.contract import Column, Parsed, Sentence, Series, Table
from collectors.parse.reports.report_json import number_or_none

MAX_REQUESTS = 2_000_000
MAX_STAGES = 500
MAX_ROUTES = 50
OTHERS = "(others)"
MAX_SPAN_S = 24 * 3600
"""Seconds of a test that series are made for; a longer one has one bad clock, or is no test."""

PERCENTILES = (("p50_ms", 50.0), ("p90_ms", 90.0), ("p99_ms", 99.0), ("p999_ms", 99.9))
COLUMNS = (
    Column("stage"),
    Column("seconds", "s"),
    Column("requests", "count"),
    Column("rps", "per_s"),
    Column("goodput_per_s", "per_s"),
    Column("non2xx_pct", "pct"),
    Column("p50_ms", "ms"),
    Column("p90_ms", "ms"),
    Column("p99_ms", "ms"),
    Column("p999_ms", "ms"),
    Column("errors", "count"),
    Column("timeouts", "count"),
    Column("mbit_per_s", "mbit_per_s"),
    Column("retransmits", "count"),
    Column("jitter_ms", "ms"),
    Column("lost_pct", "pct"),
)


@dataclass(slots=True)
class LoadStage:
    """One stage of a test; NaN is what its tool did not measure.

    `rps` counts every answer, `goodput_per_s` those with a 2xx status. `errors` are requests that got no answer at
    all, `timeouts` those among them that waited too long. `mbit_per_s` and what follows are of tests of a network.
    """

    stage: str
    line: int = 1
    seconds: float = math.nan
    requests: float = math.nan
    rps: float = math.nan
    goodput_per_s: float = math.nan
    non2xx_pct: float = math.nan
    p50_ms: float = math.nan
    p90_ms: float = math.nan
    p99_ms: float = math.nan
    p999_ms: float = math.nan
    errors: float = math.nan
    timeouts: float = math.nan
    mbit_per_s: float = math.nan
    retransmits: float = math.nan
    jitter_ms: float = math.nan
    lost_pct: float = math.nan


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """One request of a test. `status` is 0 where no answer came; `line` is where its tool wrote it down."""

    stage: str
    route: str
    start_ns: int
    latency_ms: float
    status: int
    timeout: bool
    line: int

    @property
    def good(self) -> bool:
        """Whether the answer was a 2xx."""
        return 200 <= self.status < 300


def build_load_table(stages: Sequence[LoadStage], part: str) -> Table:
    """The table of the stages."""
    stored_stages = stages[:MAX_STAGES]
    rows = tuple(
        (stage.stage, *(number_or_none(getattr(stage, column.id), 4) for column in COLUMNS[1:]))
        for stage in stored_stages
    )  # fmt: skip
    return Table("load_test", COLUMNS, rows, part, tuple(stage.line for stage in stored_stages))


def refuse_report(key: str, **params: str | int) -> Parsed:
    """What comes of a file that is no report of this kind."""
    return Parsed(readable=False, warnings=(Sentence(key, params),))


def summarize_requests(requests: Sequence[LoadRequest], part: str) -> Parsed:
    """Stages and series out of single requests."""
    if not requests:
        return refuse_report("reports.no_requests")
    by_stage: dict[str, list[LoadRequest]] = defaultdict(list)
    for request in requests:
        by_stage[request.stage].append(request)
    warnings = []
    if len(requests) >= MAX_REQUESTS:
        warnings.append(Sentence("reports.too_many_requests", {"limit": MAX_REQUESTS}))
    stages = build_load_table([_build_stage(name, some) for name, some in by_stage.items()], part)
    starts = [request.start_ns for request in requests]
    if max(starts) - min(starts) > MAX_SPAN_S * 10**9:
        warnings.append(Sentence("reports.test_too_long", {"hours": MAX_SPAN_S // 3600}))
        return Parsed(tables=(stages,), warnings=tuple(warnings))
    common = {route for route, _ in Counter(request.route for request in requests).most_common(MAX_ROUTES)}
    by_route: dict[str, list[LoadRequest]] = defaultdict(list)
    for request in requests:
        by_route[request.route if request.route in common else OTHERS].append(request)
    series = tuple(series for route, some in by_route.items() for series in _build_series(route, some, part))
    return Parsed(series=series, tables=(stages,), warnings=tuple(warnings))


def _build_stage(name: str, requests: Sequence[LoadRequest]) -> LoadStage:
    """Over the time from the first start to the last answer."""
    ended = max(request.start_ns + request.latency_ms * 1e6 for request in requests)
    seconds = (ended - min(request.start_ns for request in requests)) / 1e9
    answered = sum(request.status > 0 for request in requests)
    good = sum(request.good for request in requests)
    stage = LoadStage(name, requests[0].line, seconds, len(requests))
    if seconds > 0:
        stage.rps, stage.goodput_per_s = answered / seconds, good / seconds
    stage.non2xx_pct = 100.0 * (answered - good) / answered if answered else math.nan
    stage.errors = len(requests) - answered
    stage.timeouts = sum(request.timeout for request in requests)
    for column, value in _compute_percentiles(requests).items():
        setattr(stage, column, value)
    return stage


def _compute_percentiles(requests: Iterable[LoadRequest]) -> dict[str, float]:
    latencies = [request.latency_ms for request in requests]
    values = np.percentile(latencies, [at for _, at in PERCENTILES])
    return {name: float(value) for (name, _), value in zip(PERCENTILES, values, strict=True)}


def _build_series(route: str, requests: Sequence[LoadRequest], part: str) -> list[Series]:
    """One value for each second of the test, at its end; a second without requests has a rate of 0, and no latency.

    Requests count in the second that they began in. Errors are those without an answer or with a 5xx.
    """
    first = min(request.start_ns for request in requests) // 10**9
    by_second: dict[int, list[LoadRequest]] = defaultdict(list)
    for request in requests:
        by_second[request.start_ns // 10**9 - first].append(request)
    n = max(by_second) + 1
    names = ("requests_per_s", "errors_pct", *(name for name, _ in PERCENTILES))
    values = {name: np.full(n, np.nan) for name in names}
    values["requests_per_s"][:] = 0.0
    lines = np.ones(n, np.int32)
    line = requests[0].line
    for second in range(n):
        some = by_second.get(second, [])
        if some:
            line = some[0].line
            values["requests_per_s"][second] = len(some)
            failed = sum(item.status == 0 or item.status >= 500 for item in some)
            values["errors_pct"][second] = 100.0 * failed / len(some)
            for name, value in _compute_percentiles(some).items():
                values[name][second] = value
        lines[second] = line
    t_ns = (first + 1 + np.arange(n, dtype=np.int64)) * 10**9
    return [
        Series(f"app.{name}", t_ns, values[name][:, None], {"route": route}, part=part, lines=lines)
        for name in names
    ]
