"""What a parser yielded, on its way from the confined child to the server: one JSON file and one blob.

Everything is bounded and storable when it leaves the child: no NUL and no lone surrogate in any text, no
infinite number, ascending times, rows cut into chunks. The server only copies; it never decodes chunks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np

from collectors.contract import Event, Parsed, Sentence, Series, Table
from culprit.core import chunks
from culprit.core.chunks import Float, Int

MAX_TEXT = 4096
MAX_SERIES = 5_000
MAX_COLUMNS = 4_096
MAX_VALUES = 8_000_000
MAX_EVENTS = 10_000
MAX_TABLES = 200
MAX_TABLE_ROWS = 20_000
MAX_WARNINGS = 100
MAX_FACTS_BYTES = 256 << 10
MAX_FACT_LINES = 5_000
# 1980 to 2200: what lies outside is a broken clock, and would stretch every timeline.
EARLIEST_NS = 315_532_800 * 10**9
LATEST_NS = 7_258_118_400 * 10**9

Json = dict[str, Any]


def text(value: str, limit: int = MAX_TEXT) -> str:
    """What PostgreSQL can hold of a text from a host, at most `limit` characters; otherwise verbatim."""
    return value[:limit].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def plain(value: object, depth: int = 0) -> Any:
    """Any value from a parser as storable JSON; what is none becomes its text."""
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item(), depth)
    if depth < 8 and isinstance(value, Mapping):
        return {text(str(name)): plain(item, depth + 1) for name, item in value.items()}
    if depth < 8 and isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return text(str(value))


def sentence(one: Sentence) -> Json:
    """A sentence as it is stored."""
    return {"key": text(one.key, 200), "params": plain(dict(one.params))}


def write(parsed: Parsed, blob: BinaryIO) -> Json:
    """All that one collector yielded, as JSON; chunks go to `blob` and are named by [offset, length]."""
    warnings = [sentence(one) for one in parsed.warnings[:MAX_WARNINGS]]
    series: list[Json] = []
    for one in _first(parsed.series, MAX_SERIES, "ingest.too_many_series", warnings):
        stored = _series(one, blob, warnings)
        if stored is not None:
            series.append(stored)
    return {
        "readable": parsed.readable,
        "series": series,
        "tables": [
            _table(one, warnings)
            for one in _first(parsed.tables, MAX_TABLES, "ingest.too_many_tables", warnings)
        ],
        "events": list(events_form(_first(parsed.events, MAX_EVENTS, "ingest.too_many_events", warnings))),
        "profiles": [asdict(one) for one in parsed.profiles[:20]],
        "facts": _facts(parsed.facts, warnings),
        "fact_lines": {
            text(name, 300): int(line)
            for name, line in list(parsed.fact_lines.items())[:MAX_FACT_LINES]
            if line > 0
        },
        "warnings": warnings[:MAX_WARNINGS],
    }


def _first(items: Sequence[Any], limit: int, key: str, warnings: list[Json]) -> Sequence[Any]:
    if len(items) > limit:
        warnings.append({"key": key, "params": {"found": len(items), "kept": limit}})
    return items[:limit]


def _facts(facts: Mapping[str, object], warnings: list[Json]) -> Json:
    kept: Json = plain(facts)
    if len(json.dumps(kept)) > MAX_FACTS_BYTES:
        warnings.append({"key": "ingest.facts_too_large", "params": {"limit": MAX_FACTS_BYTES}})
        return {}
    return kept


def _table(one: Table, warnings: list[Json]) -> Json:
    rows = _first(one.rows, MAX_TABLE_ROWS, "ingest.table_cut", warnings)
    lines = [int(line) for line in one.lines[: len(rows)]] if len(one.lines) == len(one.rows) else []
    return {
        "kind": text(one.kind, 200),
        "columns": [{"id": text(c.id, 200), "unit": text(c.unit, 50)} for c in one.columns],
        "rows": plain(rows),
        "lines": lines,
        "part": one.part,
    }


def events_form(events: Iterable[Event]) -> Iterator[Json]:
    """Events as they are stored; those at impossible times are left out.

    `uncertainty_ns` is still the event's own alone; whoever stores it adds that of the clock.
    """
    for one in events:
        if not EARLIEST_NS < one.t_ns < LATEST_NS:
            continue
        yield {
            "t_ns": int(one.t_ns),
            "end_ns": int(one.end_ns) if one.end_ns is not None and one.end_ns < LATEST_NS else None,
            "uncertainty_ns": max(0, min(int(one.uncertainty_ns), LATEST_NS)),
            "kind": text(one.kind, 200),
            "severity": one.severity,
            "title": sentence(one.title),
            "detail": text(one.detail),
            "part": one.part,
            "line": int(one.line) if one.line is not None else None,
        }


def _series(one: Series, blob: BinaryIO, warnings: list[Json]) -> Json | None:
    """One series cut into chunks; None where nothing of it can be kept."""
    label = text(one.metric, 200)
    t_ns, values, lines = np.asarray(one.t_ns, np.int64), np.asarray(one.values, np.float64), one.lines
    k = len(one.axis_values) if one.axis is not None else 1
    if values.ndim != 2 or values.shape != (len(t_ns), k) or k > MAX_COLUMNS or values.size > MAX_VALUES:
        params = {"metric": label, "rows": len(t_ns), "columns": values.shape[-1] if values.ndim else 0}
        warnings.append({"key": "ingest.series_misshapen", "params": params})
        return None
    keep = (t_ns > EARLIEST_NS) & (t_ns < LATEST_NS)
    if not keep.all():
        warnings.append(
            {"key": "ingest.times_outside", "params": {"metric": label, "rows": int((~keep).sum())}}
        )
    order = np.flatnonzero(keep)[np.argsort(t_ns[keep], kind="stable")]
    if len(order) == 0:
        return None
    t_ns, values = t_ns[order], np.where(np.isinf(values[order]), np.nan, values[order])
    numbers = np.asarray(lines, np.int32)[order] if lines is not None and len(lines) == len(keep) else None
    return {
        "metric": label,
        "labels": {text(k, 200): text(v) for k, v in one.labels.items()},
        "axis": one.axis,
        "axis_values": [text(v, 200) for v in one.axis_values] if one.axis is not None else None,
        "part": one.part,
        "chunks": list(_chunks(t_ns, values, numbers, blob)),
    }


def _chunks(t_ns: Int, values: Float, lines: np.ndarray[Any, Any] | None, blob: BinaryIO) -> Iterator[Json]:
    for piece in chunks.hour_slices(t_ns):
        times, rows = t_ns[piece], values[piece]
        step = chunks.usual_step_ns(times)
        span = {"t0_ns": int(times[0]), "t1_ns": int(times[-1]), "raw_step_ns": step}
        yield {
            **span,
            "level": 0,
            "n": len(times),
            "step_ns": step,
            "data": _put(blob, chunks.encode_raw(times, rows)),
            "summary": _put(blob, chunks.summary(chunks.raw_rows(times, rows))),
            "lines": _put(blob, chunks.encode_lines(lines[piece])) if lines is not None else None,
        }
        for level, above in enumerate(chunks.pyramid(times, rows), start=1):
            yield {
                **span,
                "level": level,
                "n": above.n,
                "step_ns": max(step, 1) * chunks.FACTOR**level,
                "data": _put(blob, chunks.encode_level(above)),
                "summary": None,
                "lines": None,
            }


def _put(blob: BinaryIO, data: bytes) -> list[int]:
    at = blob.tell()
    blob.write(data)
    return [at, len(data)]
