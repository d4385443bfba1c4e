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
from collectors.parse import report_json
from collectors.parse.report_json import items, known, mapping, words

MAX_SERIES = 200
MAX_POINTS = 400_000
_PAIR = re.compile(r'\[\s*\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*,\s*"[^"\\]*"\s*\]')
# Only between two values: a quote within a label is escaped, and a digit must follow.
_BETWEEN = re.compile(rb'(?<!\\)("\],)(?=\[\d)')
_EARLIEST_S, _LATEST_S = 315_532_800.0, 7_258_118_400.0  # 1980 to 2200, as everywhere


@dataclass(frozen=True, slots=True)
class Lane:
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
class Answer:
    """What one query brought; `refusal` says why there are no lanes."""

    lanes: tuple[Lane, ...] = ()
    refusal: Sentence | None = None
    warnings: tuple[Sentence, ...] = ()


def lined(body: bytes) -> bytes:
    """The answer with a line break behind each value of a series."""
    return _BETWEEN.sub(rb"\1\n", body)


def read(text: str) -> Answer:
    """One answer. Whatever is no matrix is a refusal."""
    whole = mapping(report_json.load(text))
    if whole.get("status") == "error":
        said = words(whole.get("error"), 300) or words(whole.get("errorType"))
        return Answer(refusal=Sentence("reports.prometheus_error", {"said": said}))
    data = mapping(whole.get("data"))
    if whole.get("status") != "success" or data.get("resultType") != "matrix":
        return Answer(refusal=Sentence("reports.not_prometheus"))
    found = items(data.get("result"))
    lines = _lines(text, found)
    lanes, at, warnings = [], 0, [_warning(one) for one in _list(whole.get("warnings"))[:5]]
    for one in found[:MAX_SERIES]:
        pairs = _list(one.get("values"))
        if at + len(pairs) > MAX_POINTS:
            warnings.append(Sentence("reports.too_many_points", {"limit": MAX_POINTS}))
            break
        lanes.append(_lane(one, pairs, lines[at : at + len(pairs)]))
        at += len(pairs)
    if len(found) > MAX_SERIES:
        warnings.append(Sentence("reports.too_many_lanes", {"found": len(found), "kept": MAX_SERIES}))
    return Answer(tuple(lanes), None, tuple(warnings))


def series(metric: str, answer: Answer, part: str, factor: float = 1.0) -> list[Series]:
    """The lanes of an answer as series of `metric`, their values times `factor`."""
    return [_one(metric, lane, lane.values * factor, part) for lane in answer.lanes]


def share_pct(metric: str, some: Answer, all_of: Answer, part: str) -> list[Series]:
    """100 · some / all, route by route, at the times that both have. Nothing of nothing is no data.

    A route that has counted all and never some has failed at nothing: 0 %. Both answers must be of one grid.
    """
    found = {lane.route: lane for lane in some.lanes}
    out = []
    for lane in all_of.lanes:
        one = found.get(lane.route)
        part_of = np.zeros(len(lane.t_ns)) if one is None else _at(one, lane.t_ns)
        lines = lane.lines if one is None else _lines_at(one, lane.t_ns)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(lane.values > 0, 100.0 * part_of / lane.values, np.nan)
        out.append(_one(metric, Lane(lane.labels, lane.t_ns, lane.values, lines), values, part))
    return out


def table(answer: Answer, part: str) -> Parsed:
    """An answer of a query that nobody knows: each of its series as a row of a table."""
    if answer.refusal is not None:
        return Parsed(readable=False, warnings=(answer.refusal,))
    columns = (
        Column("series"), Column("points", "count"), Column("min"), Column("mean"), Column("max"), Column("last"),
    )  # fmt: skip
    rows = tuple(_row(lane) for lane in answer.lanes)
    lines = tuple(int(lane.lines[0]) if len(lane.lines) else 1 for lane in answer.lanes)
    return Parsed(tables=(Table("prometheus_series", columns, rows, part, lines),), warnings=answer.warnings)


def _row(lane: Lane) -> tuple[str | int | float | None, ...]:
    good = lane.values[np.isfinite(lane.values)]
    name = ",".join(f"{name}={value}" for name, value in sorted(lane.labels.items()))[:400]
    if not len(good):
        return (name, 0, None, None, None, None)
    numbers = (good.min(), good.mean(), good.max(), good[-1])
    return (name, len(good), *(known(float(one), 6) for one in numbers))


def _one(metric: str, lane: Lane, values: Values, part: str) -> Series:
    return Series(metric, lane.t_ns, values[:, None], {"route": lane.route}, part=part, lines=lane.lines)


def _lane(one: report_json.Json, pairs: list[object], lines: npt.NDArray[np.int32]) -> Lane:
    labels = {words(name): words(value) for name, value in mapping(one.get("metric")).items()}
    labels.pop("__name__", None)
    read = np.array([_pair(pair) for pair in pairs], np.float64).reshape(-1, 2)
    keep = (read[:, 0] > _EARLIEST_S) & (read[:, 0] < _LATEST_S)
    t_ns = np.round(read[keep, 0] * 1e3).astype(np.int64) * 1_000_000  # Prometheus counts milliseconds
    return Lane(labels, t_ns, np.where(np.isinf(read[keep, 1]), np.nan, read[keep, 1]), lines[keep])


def _pair(pair: object) -> tuple[float, float]:
    if not isinstance(pair, list) or len(pair) != 2:
        return (np.nan, np.nan)
    return (report_json.number(pair[0]), report_json.number(pair[1]))


def _lines(text: str, found: list[report_json.Json]) -> npt.NDArray[np.int32]:
    """The line of each value in order; all 1 where the text does not show them one by one."""
    wanted = sum(len(_list(one.get("values"))) for one in found)
    lines, line, before = [], 1, 0
    for pair in _PAIR.finditer(text):
        line += text.count("\n", before, pair.start())
        before = pair.start()
        lines.append(line)
    return np.array(lines if len(lines) == wanted else [1] * wanted, np.int32)


def _at(lane: Lane, t_ns: Times) -> npt.NDArray[np.float64]:
    known_at = dict(zip(lane.t_ns.tolist(), lane.values.tolist(), strict=True))
    return np.array([known_at.get(t, np.nan) for t in t_ns.tolist()], np.float64)


def _lines_at(lane: Lane, t_ns: Times) -> npt.NDArray[np.int32]:
    known_at = dict(zip(lane.t_ns.tolist(), lane.lines.tolist(), strict=True))
    return np.array([known_at.get(t, 1) for t in t_ns.tolist()], np.int32)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _warning(one: object) -> Sentence:
    return Sentence("reports.prometheus_warns", {"said": words(one, 300)})
