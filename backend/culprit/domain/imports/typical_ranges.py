"""Read the typical ranges of a service from its Prometheus: the same hours on earlier days.

The parts: `query.json` contains the queries and their series; `rate.jsonl`, `errors.jsonl` and `p50.jsonl` to
`p999.jsonl` contain one response of `query_range` per line, line d for d days before. Missing lines were not
queried, and `query.json` states the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from collectors.contract import Column, Context, Parsed, Part, Sentence, Series, Table
from collectors.parse.reports import prometheus_range
from collectors.parse.reports.prometheus_import import QUANTILES, QUERY_PART
from collectors.parse.reports.prometheus_range import RangeAnswer
from collectors.parse.reports.report_json import Json, as_mapping, as_number, as_text, decode_text, load_json
from culprit.domain.series.typical_range import (
    COLUMNS,
    DAY_S,
    DAYS,
    ERRORS,
    KIND,
    METRICS,
    RATE,
    DaySeries,
    Float,
    compute_typical_range,
    list_instants,
)

DAY_COUNT_METRIC = "days"
LATEST_S = 7_258_118_400.0  # the year 2200, as everywhere
MAX_ROUTES = 10
MAX_INSTANTS = 60
MIN_STEP_S = 10.0
Row = tuple[str | int | float | None, ...]


def parse_typical_ranges(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Return one table for each metric of the run, with a row for each route and time."""
    mapping = as_mapping(load_json(decode_text(parts[QUERY_PART]) or "")) if QUERY_PART in parts else {}
    start, end = as_number(mapping.get("start_s")), as_number(mapping.get("end_s"))
    if not 0 <= start <= end < LATEST_S:
        return Parsed(readable=False, warnings=(Sentence("reports.not_prometheus"),))
    at = list_instants(start, end, max(MIN_STEP_S, math.ceil((end - start) / MAX_INSTANTS)))
    answers = {name: _read_answers(parts, name) for name in ("rate", "errors", *QUANTILES)}
    factor = 1.0 if mapping.get("latency_unit") == "ms" else 1e3
    columns = tuple(Column(name, "count" if name == DAY_COUNT_METRIC else "") for name in COLUMNS)
    tables = []
    for metric, routes in _list_routes(mapping):
        days = _group_by_day(metric, answers, factor)
        rows, lines = _build_rows(metric, routes, days, at)
        tables.append(Table(KIND, columns, rows, f"{METRICS[metric][0]}.jsonl", lines))
    all_answers = [item for of_query in answers.values() for item in of_query]
    readable = any(item.refusal is None for item in all_answers)
    warnings = tuple(_list_notes(mapping, all_answers))
    return Parsed(tables=tuple(tables) if readable else (), warnings=warnings, readable=readable)


def _read_answers(parts: Mapping[str, Part], name: str) -> list[RangeAnswer]:
    part = parts.get(f"{name}.jsonl")
    text = decode_text(part) if part is not None else ""
    if text is None:
        return [RangeAnswer(refusal=Sentence("reports.too_long"))]
    return [prometheus_range.parse_range_answer(line) for line in text.split("\n")[:DAYS] if line]


def _list_routes(requested: Json) -> Iterator[tuple[str, list[str]]]:
    """Yield the routes that the run measured, by metric; no other route needs a typical range."""
    mapping = as_mapping(requested.get("routes"))
    for metric in METRICS:
        routes = mapping.get(metric)
        if isinstance(routes, list) and routes:
            yield metric, [as_text(route, 200) for route in routes[:MAX_ROUTES]]


def _group_by_day(
    metric: str, answers: Mapping[str, Sequence[RangeAnswer]], factor: float
) -> list[dict[str, DaySeries]]:
    """Return the values of each earlier day by route, the newest day first."""
    name, _ = METRICS[metric]
    part = f"{name}.jsonl"
    series: list[list[Series]] = []
    for back, answer in enumerate(answers[name]):
        if metric == ERRORS:
            whole = answers["rate"][back] if back < len(answers["rate"]) else RangeAnswer()
            good = answer.refusal is None
            series.append(prometheus_range.compute_share_pct(metric, answer, whole, part) if good else [])
        else:
            series.append(
                prometheus_range.build_range_series(metric, answer, part, 1.0 if metric == RATE else factor)
            )
    return [
        {
            item.labels["route"]: DaySeries(
                item.t_ns / 1e9 + back * DAY_S, np.asarray(item.values[:, 0], np.float64)
            )
            for item in of_day
        }
        for back, of_day in enumerate(series, start=1)
    ]


def _build_rows(
    metric: str, routes: Sequence[str], days: Sequence[Mapping[str, DaySeries]], at: Float
) -> tuple[tuple[Row, ...], tuple[int, ...]]:
    rows: list[Row] = []
    lines: list[int] = []
    unit = METRICS[metric][1]
    for route in routes:
        of_route = [day[route] for day in days if route in day]
        newest = next((line for line, day in enumerate(days, start=1) if route in day), 1)
        band = compute_typical_range(at, of_route)
        planes = (band.low, band.median, band.high)
        for i, t_s in enumerate(at.tolist()):
            band_values = [_round_finite(float(plane[i])) for plane in planes]
            rows.append((metric, route, _format_utc(t_s), int(band.days[i]), *band_values, unit))
            lines.append(newest)
    return tuple(rows), tuple(lines)


def _format_utc(t_s: float) -> str:
    return datetime.fromtimestamp(t_s, UTC).isoformat(timespec="milliseconds")


def _round_finite(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _list_notes(requested: Json, answers: Sequence[RangeAnswer]) -> Iterator[Sentence]:
    """Yield the reasons of missing days and the messages of Prometheus, each once."""
    messages = []
    ended = as_mapping(requested.get("ended"))
    if isinstance(ended.get("key"), str):
        params = {
            name: item
            for name, item in as_mapping(ended.get("params")).items()
            if isinstance(item, str | int)
        }
        messages.append(Sentence(ended["key"], params))
    messages += [answer.refusal for answer in answers if answer.refusal is not None]
    messages += [warning for answer in answers for warning in answer.warnings]
    seen: list[Sentence] = []
    for item in messages:
        if item not in seen:
            seen.append(item)
            yield item
