"""Answers of Prometheus' `/api/v1/query_range` as series.

Format: https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries. Values are text in JSON, so that
NaN and Inf survive. Prometheus writes all of it on one line; `lined` breaks it behind each value, and nothing else,
so that a number can be cited by the line that holds it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.contract import Column, Parsed, Sentence, Series, Table, Times, Values
from collectors.parse.reports import report_json
from collectors.parse.reports.report_json import as_items, as_mapping, as_text, number_or_none

MAX_SERIES = 200
MAX_POINTS = 400_000
_PAIR = re.compile(r'\[\s*\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*,\s*"[^"\\]*"\s*\]')
# Only between two values: a quote within a label is escaped, and a digit must follow.
_BETWEEN = re.compile(rb'(?<!\\)("\],)(?=\[\d)')
_EARLIEST_S, _LATEST_S = 315_532_800.0, 7_258_118_400.0  # 1980 to 2200, as everywhere


@dataclass(frozen=True, slots=True)
class RangeSeries:
    """One series of an answer. Shapes: `t_ns` [n], `values` [n], `lines` [n]."""

    labels: dict[str, str]
    t_ns: Times
    values: npt.NDArray[np.float64]
    lines: npt.NDArray[np.int32]

    @property
    def route(self) -> str:
        """What the series is of: its label `route`, otherwise all of its labels."""
        if "route" in self.labels:
            return self.labels["route"]
        return ",".join(f"{name}={value}" for name, value in sorted(self.labels.items()))[:200]


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """The answer to one query. `refusal` is the reason why it has no series."""

    series: tuple[RangeSeries, ...] = ()
    refusal: Sentence | None = None
    warnings: tuple[Sentence, ...] = ()


def split_into_lines(body: bytes) -> bytes:
    """The answer with a line break behind each value of a series."""
    return _BETWEEN.sub(rb"\1\n", body)


def parse_range_answer(text: str) -> RangeAnswer:
    """Parse one answer. A result that is not a matrix is an error."""
    whole = as_mapping(report_json.load_json(text))
    if whole.get("status") == "error":
        reported_text = as_text(whole.get("error"), 300) or as_text(whole.get("errorType"))
        return RangeAnswer(refusal=Sentence("reports.prometheus_error", {"message": reported_text}))
    data = as_mapping(whole.get("data"))
    if whole.get("status") != "success" or data.get("resultType") != "matrix":
        return RangeAnswer(refusal=Sentence("reports.not_prometheus"))
    items = as_items(data.get("result"))
    lines = _find_lines(text, items)
    series, at, warnings = [], 0, [_build_warning(item) for item in _get_list(whole.get("warnings"))[:5]]
    for item in items[:MAX_SERIES]:
        pairs = _get_list(item.get("values"))
        if at + len(pairs) > MAX_POINTS:
            warnings.append(Sentence("reports.too_many_points", {"limit": MAX_POINTS}))
            break
        series.append(_parse_series(item, pairs, lines[at : at + len(pairs)]))
        at += len(pairs)
    if len(items) > MAX_SERIES:
        warnings.append(Sentence("reports.too_many_series", {"found": len(items), "kept": MAX_SERIES}))
    return RangeAnswer(tuple(series), None, tuple(warnings))


def build_range_series(metric: str, answer: RangeAnswer, part: str, factor: float = 1.0) -> list[Series]:
    """Return the series of an answer as series of `metric`, their values times `factor`."""
    with np.errstate(over="ignore"):
        return [_parse_result(metric, item, item.values * factor, part) for item in answer.series]


def compute_share_pct(metric: str, some: RangeAnswer, all_of: RangeAnswer, part: str) -> list[Series]:
    """100 · some / all, route by route, at the times that both have. Nothing of nothing is no data.

    A route that has counted all and never some has failed at nothing: 0 %. Both answers must be of one grid.
    """
    results = {item.route: item for item in some.series}
    out = []
    for item in all_of.series:
        entry = results.get(item.route)
        part_of = np.zeros(len(item.t_ns)) if entry is None else _line_at(entry, item.t_ns)
        lines = item.lines if entry is None else _lines_at(entry, item.t_ns)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            values = np.where(item.values > 0, 100.0 * part_of / item.values, np.nan)
        out.append(
            _parse_result(metric, RangeSeries(item.labels, item.t_ns, item.values, lines), values, part)
        )
    return out


def build_range_table(answer: RangeAnswer, part: str) -> Parsed:
    """Return the answer of an unknown query: each of its series is a row of a table."""
    if answer.refusal is not None:
        return Parsed(readable=False, warnings=(answer.refusal,))
    columns = (
        Column("series"), Column("points", "count"), Column("min"), Column("mean"), Column("max"), Column("last"),
    )  # fmt: skip
    rows = tuple(_build_row(item) for item in answer.series)
    lines = tuple(int(item.lines[0]) if len(item.lines) else 1 for item in answer.series)
    return Parsed(tables=(Table("prometheus_series", columns, rows, part, lines),), warnings=answer.warnings)


def _build_row(item: RangeSeries) -> tuple[str | int | float | None, ...]:
    good = item.values[np.isfinite(item.values)]
    name = ",".join(f"{name}={value}" for name, value in sorted(item.labels.items()))[:400]
    if not len(good):
        return (name, 0, None, None, None, None)
    numbers = (good.min(), good.mean(), good.max(), good[-1])
    return (name, len(good), *(number_or_none(float(number), 6) for number in numbers))


def _parse_result(metric: str, item: RangeSeries, values: Values, part: str) -> Series:
    """Return a series; a value that its unit makes infinite is no data."""
    finite = np.where(np.isfinite(values), values, np.nan)
    return Series(metric, item.t_ns, finite[:, None], {"route": item.route}, part=part, lines=item.lines)


def _parse_series(item: report_json.Json, pairs: list[object], lines: npt.NDArray[np.int32]) -> RangeSeries:
    labels = {as_text(name): as_text(value) for name, value in as_mapping(item.get("metric")).items()}
    labels.pop("__name__", None)
    read = np.array([_parse_pair(pair) for pair in pairs], np.float64).reshape(-1, 2)
    keep = (read[:, 0] > _EARLIEST_S) & (read[:, 0] < _LATEST_S)
    t_ns = np.round(read[keep, 0] * 1e3).astype(np.int64) * 1_000_000  # Prometheus counts milliseconds
    values = np.where(np.isinf(read[keep, 1]), np.nan, read[keep, 1])
    order = np.argsort(t_ns, kind="stable")
    return RangeSeries(labels, t_ns[order], values[order], lines[keep][order])


def _parse_pair(pair: object) -> tuple[float, float]:
    if not isinstance(pair, list) or len(pair) != 2:
        return (np.nan, np.nan)
    return (report_json.as_number(pair[0]), report_json.as_number(pair[1]))


def _find_lines(text: str, result: list[report_json.Json]) -> npt.NDArray[np.int32]:
    """The line of each value in order; all 1 where the text does not show them one by one."""
    requested = sum(len(_get_list(item.get("values"))) for item in result)
    lines, line, before = [], 1, 0
    for pair in _PAIR.finditer(text):
        line += text.count("\n", before, pair.start())
        before = pair.start()
        lines.append(line)
    return np.array(lines if len(lines) == requested else [1] * requested, np.int32)


def _line_at(item: RangeSeries, t_ns: Times) -> npt.NDArray[np.float64]:
    known_at = dict(zip(item.t_ns.tolist(), item.values.tolist(), strict=True))
    return np.array([known_at.get(t, np.nan) for t in t_ns.tolist()], np.float64)


def _lines_at(item: RangeSeries, t_ns: Times) -> npt.NDArray[np.int32]:
    known_at = dict(zip(item.t_ns.tolist(), item.lines.tolist(), strict=True))
    return np.array([known_at.get(t, 1) for t in t_ns.tolist()], np.int32)


def _get_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _build_warning(item: object) -> Sentence:
    return Sentence("reports.prometheus_warns", {"message": as_text(item, 300)})
