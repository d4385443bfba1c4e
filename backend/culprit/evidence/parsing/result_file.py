"""The result of a parser as the sandboxed child passes it to the server: one JSON file and one blob.

The child writes only bounded and storable data: no NUL and no lone surrogate in texts, no infinite numbers, ascending
times, rows cut into chunks. The server copies the chunks and never decodes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np

from collectors.contract import Event, Parsed, Sentence, Series, Table
from culprit.domain.series import chunks
from culprit.domain.series.chunks import Float, Int
from culprit.json_types import Json

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
# 1980 to 2200. Times outside come from a broken clock and would extend the range of every timeline.
EARLIEST_NS = 315_532_800 * 10**9
LATEST_NS = 7_258_118_400 * 10**9


def sanitize_text(value: str, limit: int = MAX_TEXT) -> str:
    """Return at most `limit` characters of a text, with characters replaced that PostgreSQL cannot store."""
    return value[:limit].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def to_storable(value: object, depth: int = 0) -> Any:
    """Return a value from a parser as storable JSON; values of other types become text."""
    if isinstance(value, str):
        return sanitize_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return to_storable(value.item(), depth)
    if depth < 8 and isinstance(value, Mapping):
        return {sanitize_text(str(name)): to_storable(item, depth + 1) for name, item in value.items()}
    if depth < 8 and isinstance(value, list | tuple):
        return [to_storable(item, depth + 1) for item in value]
    return sanitize_text(str(value))


def sentence_to_json(sentence: Sentence) -> Json:
    """Return the storable JSON of a message."""
    return {"key": sanitize_text(sentence.key, 200), "params": to_storable(dict(sentence.params))}


def write_result(parsed: Parsed, blob: BinaryIO) -> Json:
    """Return the parse result of one collector as JSON. Chunks are written to `blob`, and JSON has [offset, length]."""
    warnings = [sentence_to_json(warning) for warning in parsed.warnings[:MAX_WARNINGS]]
    series: list[Json] = []
    for item in _take_first(parsed.series, MAX_SERIES, "ingest.too_many_series", warnings):
        stored = _series_to_json(item, blob, warnings)
        if stored is not None:
            series.append(stored)
    return {
        "readable": parsed.readable,
        "series": series,
        "tables": [
            _table_to_json(item, warnings)
            for item in _take_first(parsed.tables, MAX_TABLES, "ingest.too_many_tables", warnings)
        ],
        "events": list(
            events_to_json(_take_first(parsed.events, MAX_EVENTS, "ingest.too_many_events", warnings))
        ),
        "profiles": [asdict(profile) for profile in parsed.profiles[:20]],
        "facts": _facts_to_json(parsed.facts, warnings),
        "fact_lines": {
            sanitize_text(name, 300): int(line)
            for name, line in list(parsed.fact_lines.items())[:MAX_FACT_LINES]
            if line > 0
        },
        "warnings": warnings[:MAX_WARNINGS],
    }


def _take_first(items: Sequence[Any], limit: int, key: str, warnings: list[Json]) -> Sequence[Any]:
    if len(items) > limit:
        warnings.append({"key": key, "params": {"found": len(items), "kept": limit}})
    return items[:limit]


def _facts_to_json(facts: Mapping[str, object], warnings: list[Json]) -> Json:
    storable: Json = to_storable(facts)
    if len(json.dumps(storable)) > MAX_FACTS_BYTES:
        warnings.append({"key": "ingest.facts_too_large", "params": {"limit": MAX_FACTS_BYTES}})
        return {}
    return storable


def _table_to_json(table: Table, warnings: list[Json]) -> Json:
    rows = _take_first(table.rows, MAX_TABLE_ROWS, "ingest.table_cut", warnings)
    lines = [int(line) for line in table.lines[: len(rows)]] if len(table.lines) == len(table.rows) else []
    return {
        "kind": sanitize_text(table.kind, 200),
        "columns": [
            {"id": sanitize_text(c.id, 200), "unit": sanitize_text(c.unit, 50)} for c in table.columns
        ],
        "rows": to_storable(rows),
        "lines": lines,
        "part": table.part,
    }


def events_to_json(events: Iterable[Event]) -> Iterator[Json]:
    """Yield the storable JSON of events; events outside EARLIEST_NS to LATEST_NS are omitted.

    `uncertainty_ns` is that of the event alone; the code that stores the event adds that of the clock.
    """
    for event in events:
        if not EARLIEST_NS < event.t_ns < LATEST_NS:
            continue
        yield {
            "t_ns": int(event.t_ns),
            "end_ns": int(event.end_ns) if event.end_ns is not None and event.end_ns < LATEST_NS else None,
            "uncertainty_ns": max(0, min(int(event.uncertainty_ns), LATEST_NS)),
            "kind": sanitize_text(event.kind, 200),
            "severity": event.severity,
            "title": sentence_to_json(event.title),
            "detail": sanitize_text(event.detail),
            "part": event.part,
            "line": int(event.line) if event.line is not None else None,
        }


def _series_to_json(series: Series, blob: BinaryIO, warnings: list[Json]) -> Json | None:
    """Write a series to `blob` in chunks and return its description, or None if it has no storable row."""
    label = sanitize_text(series.metric, 200)
    t_ns, values, lines = (
        np.asarray(series.t_ns, np.int64),
        np.asarray(series.values, np.float64),
        series.lines,
    )
    k = len(series.axis_values) if series.axis is not None else 1
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
        "labels": {sanitize_text(k, 200): sanitize_text(v) for k, v in series.labels.items()},
        "axis": series.axis,
        "axis_values": [sanitize_text(v, 200) for v in series.axis_values]
        if series.axis is not None
        else None,
        "part": series.part,
        "chunks": list(_write_chunks(t_ns, values, numbers, blob)),
    }


def _write_chunks(
    t_ns: Int, values: Float, lines: np.ndarray[Any, Any] | None, blob: BinaryIO
) -> Iterator[Json]:
    for piece in chunks.split_by_hour(t_ns):
        times, rows = t_ns[piece], values[piece]
        step = chunks.compute_median_step_ns(times)
        span = {"t0_ns": int(times[0]), "t1_ns": int(times[-1]), "raw_step_ns": step}
        yield {
            **span,
            "level": 0,
            "n": len(times),
            "step_ns": step,
            "data": _write_blob(blob, chunks.encode_raw(times, rows)),
            "summary": _write_blob(blob, chunks.encode_summary(chunks.make_raw_rows(times, rows))),
            "lines": _write_blob(blob, chunks.encode_lines(lines[piece])) if lines is not None else None,
        }
        for level, above in enumerate(chunks.build_levels(times, rows), start=1):
            yield {
                **span,
                "level": level,
                "n": above.n,
                "step_ns": max(step, 1) * chunks.FACTOR**level,
                "data": _write_blob(blob, chunks.encode_level(above)),
                "summary": None,
                "lines": None,
            }


def _write_blob(blob: BinaryIO, data: bytes) -> list[int]:
    at = blob.tell()
    blob.write(data)
    return [at, len(data)]
