"""What a service's Prometheus measured at the same hours of earlier days, read into what is usual at them.

The parts: `query.json` says what was asked and for which lanes; `rate.jsonl`, `errors.jsonl` and `p50.jsonl` to
`p999.jsonl` hold one answer of `query_range` a line, line d that of d days before. Lines that are missing were not
asked, and `query.json` says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from collectors.contract import Column, Context, Parsed, Part, Sentence, Series, Table
from collectors.parse import prometheus_range
from collectors.parse.prometheus_import import ASKED, QUANTILES
from collectors.parse.prometheus_range import Answer
from collectors.parse.report_json import Json, load, mapping, number, text_of, words
from culprit.core.usual import COLUMNS, DAY_S, DAYS, ERRORS, KIND, METRICS, RATE, Day, Float, instants, usual

COUNTED = "days"
LATEST_S = 7_258_118_400.0  # the year 2200, as everywhere
MAX_ROUTES = 10
MAX_INSTANTS = 60
MIN_STEP_S = 10.0
Row = tuple[str | int | float | None, ...]


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One table for each metric of the run: a row for each route and time."""
    asked = mapping(load(text_of(parts[ASKED]) or "")) if ASKED in parts else {}
    start, end = number(asked.get("start_s")), number(asked.get("end_s"))
    if not 0 <= start <= end < LATEST_S:
        return Parsed(readable=False, warnings=(Sentence("reports.not_prometheus"),))
    at = instants(start, end, max(MIN_STEP_S, math.ceil((end - start) / MAX_INSTANTS)))
    answers = {name: _answers(parts, name) for name in ("rate", "errors", *QUANTILES)}
    factor = 1.0 if asked.get("latency_unit") == "ms" else 1e3
    columns = tuple(Column(name, "count" if name == COUNTED else "") for name in COLUMNS)
    tables = []
    for metric, routes in _lanes(asked):
        days = _days(metric, answers, factor)
        rows, lines = _rows(metric, routes, days, at)
        tables.append(Table(KIND, columns, rows, f"{METRICS[metric][0]}.jsonl", lines))
    every = [one for of_query in answers.values() for one in of_query]
    read = any(one.refusal is None for one in every)
    return Parsed(tables=tuple(tables) if read else (), warnings=tuple(_said(asked, every)), readable=read)


def _answers(parts: Mapping[str, Part], name: str) -> list[Answer]:
    part = parts.get(f"{name}.jsonl")
    text = text_of(part) if part is not None else ""
    if text is None:
        return [Answer(refusal=Sentence("reports.too_long"))]
    return [prometheus_range.read(line) for line in text.split("\n")[:DAYS] if line]


def _lanes(asked: Json) -> Iterator[tuple[str, list[str]]]:
    """The lanes that the run has: what was never measured now needs nothing to be compared with."""
    wanted = mapping(asked.get("lanes"))
    for metric in METRICS:
        routes = wanted.get(metric)
        if isinstance(routes, list) and routes:
            yield metric, [words(route, 200) for route in routes[:MAX_ROUTES]]


def _days(metric: str, answers: Mapping[str, Sequence[Answer]], factor: float) -> list[dict[str, Day]]:
    """For each earlier day, from the newest, its values by route."""
    name, _ = METRICS[metric]
    part = f"{name}.jsonl"
    found: list[list[Series]] = []
    for back, answer in enumerate(answers[name]):
        if metric == ERRORS:
            whole = answers["rate"][back] if back < len(answers["rate"]) else Answer()
            good = answer.refusal is None
            found.append(prometheus_range.share_pct(metric, answer, whole, part) if good else [])
        else:
            found.append(prometheus_range.series(metric, answer, part, 1.0 if metric == RATE else factor))
    return [
        {
            one.labels["route"]: Day(one.t_ns / 1e9 + back * DAY_S, np.asarray(one.values[:, 0], np.float64))
            for one in of_day
        }
        for back, of_day in enumerate(found, start=1)
    ]


def _rows(
    metric: str, routes: Sequence[str], days: Sequence[Mapping[str, Day]], at: Float
) -> tuple[tuple[Row, ...], tuple[int, ...]]:
    rows: list[Row] = []
    lines: list[int] = []
    unit = METRICS[metric][1]
    for route in routes:
        of_route = [day[route] for day in days if route in day]
        newest = next((line for line, day in enumerate(days, start=1) if route in day), 1)
        band = usual(at, of_route)
        planes = (band.low, band.median, band.high)
        for i, t_s in enumerate(at.tolist()):
            shown = [_known(float(plane[i])) for plane in planes]
            rows.append((metric, route, _utc(t_s), int(band.days[i]), *shown, unit))
            lines.append(newest)
    return tuple(rows), tuple(lines)


def _utc(t_s: float) -> str:
    return datetime.fromtimestamp(t_s, UTC).isoformat(timespec="milliseconds")


def _known(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _said(asked: Json, answers: Sequence[Answer]) -> Iterator[Sentence]:
    """Why days are missing, and what Prometheus had to say, each once."""
    said = []
    ended = mapping(asked.get("ended"))
    if isinstance(ended.get("key"), str):
        params = {
            name: one for name, one in mapping(ended.get("params")).items() if isinstance(one, str | int)
        }
        said.append(Sentence(ended["key"], params))
    said += [one.refusal for one in answers if one.refusal is not None]
    said += [told for one in answers for told in one.warnings]
    seen: list[Sentence] = []
    for one in said:
        if one not in seen:
            seen.append(one)
            yield one
