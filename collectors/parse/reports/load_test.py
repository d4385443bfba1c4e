"""What a load generator measured, in one form: the table `load_test`, and series where requests have times."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.contract import Column, Parsed, Sentence, Series, Table
from collectors.parse.report_json import known

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
class Stage:
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
class Request:
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


def table(stages: Sequence[Stage], part: str) -> Table:
    """The table of the stages."""
    kept = stages[:MAX_STAGES]
    rows = tuple(
        (one.stage, *(known(getattr(one, column.id), 4) for column in COLUMNS[1:])) for one in kept
    )  # fmt: skip
    return Table("load_test", COLUMNS, rows, part, tuple(one.line for one in kept))


def refused(key: str, **params: str | int) -> Parsed:
    """What comes of a file that is no report of this kind."""
    return Parsed(readable=False, warnings=(Sentence(key, params),))


def of_requests(requests: Sequence[Request], part: str) -> Parsed:
    """Stages and series out of single requests."""
    if not requests:
        return refused("reports.no_requests")
    by_stage: dict[str, list[Request]] = defaultdict(list)
    for one in requests:
        by_stage[one.stage].append(one)
    warnings = []
    if len(requests) >= MAX_REQUESTS:
        warnings.append(Sentence("reports.too_many_requests", {"limit": MAX_REQUESTS}))
    stages = table([_stage(name, some) for name, some in by_stage.items()], part)
    starts = [one.start_ns for one in requests]
    if max(starts) - min(starts) > MAX_SPAN_S * 10**9:
        warnings.append(Sentence("reports.test_too_long", {"hours": MAX_SPAN_S // 3600}))
        return Parsed(tables=(stages,), warnings=tuple(warnings))
    common = {route for route, _ in Counter(one.route for one in requests).most_common(MAX_ROUTES)}
    by_route: dict[str, list[Request]] = defaultdict(list)
    for one in requests:
        by_route[one.route if one.route in common else OTHERS].append(one)
    series = tuple(one for route, some in by_route.items() for one in _series(route, some, part))
    return Parsed(series=series, tables=(stages,), warnings=tuple(warnings))


def _stage(name: str, requests: Sequence[Request]) -> Stage:
    """Over the time from the first start to the last answer."""
    ended = max(one.start_ns + one.latency_ms * 1e6 for one in requests)
    seconds = (ended - min(one.start_ns for one in requests)) / 1e9
    answered = sum(one.status > 0 for one in requests)
    good = sum(one.good for one in requests)
    stage = Stage(name, requests[0].line, seconds, len(requests))
    if seconds > 0:
        stage.rps, stage.goodput_per_s = answered / seconds, good / seconds
    stage.non2xx_pct = 100.0 * (answered - good) / answered if answered else math.nan
    stage.errors = len(requests) - answered
    stage.timeouts = sum(one.timeout for one in requests)
    for column, value in _percentiles(requests).items():
        setattr(stage, column, value)
    return stage


def _percentiles(requests: Iterable[Request]) -> dict[str, float]:
    latencies = [one.latency_ms for one in requests]
    values = np.percentile(latencies, [at for _, at in PERCENTILES])
    return {name: float(value) for (name, _), value in zip(PERCENTILES, values, strict=True)}


def _series(route: str, requests: Sequence[Request], part: str) -> list[Series]:
    """One value for each second of the test, at its end; a second without requests has a rate of 0, and no latency.

    Requests count in the second that they began in. Errors are those without an answer or with a 5xx.
    """
    first = min(one.start_ns for one in requests) // 10**9
    by_second: dict[int, list[Request]] = defaultdict(list)
    for one in requests:
        by_second[one.start_ns // 10**9 - first].append(one)
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
            failed = sum(one.status == 0 or one.status >= 500 for one in some)
            values["errors_pct"][second] = 100.0 * failed / len(some)
            for name, value in _percentiles(some).items():
                values[name][second] = value
        lines[second] = line
    t_ns = (first + 1 + np.arange(n, dtype=np.int64)) * 10**9
    return [
        Series(f"app.{name}", t_ns, values[name][:, None], {"route": route}, part=part, lines=lines)
        for name in names
    ]
