"""What the tests of collectors share: parts in memory, and the clock of a fixture."""

from __future__ import annotations

import hashlib
import io
import json
import math
import subprocess
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np

from collectors.clock.mapping import ClockMap
from collectors.contract import Context, Parsed
from collectors.tests.recorder import clock_record

NAN = float("nan")


class BytesPart:
    """A part that is held in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.sha256 = hashlib.sha256(data).hexdigest()

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def read(self, limit: int) -> bytes:
        return self.data[:limit]


def here() -> ClockMap:
    """Clock map of this machine, from a single reading."""
    return ClockMap.from_records([clock_record("start")])


#: A host that booted at 2026-01-01T00:00:00Z and was never set wrong.
SIMPLE = ClockMap.from_records(
    [
        {
            "bt0": "0",
            "bt1": "0",
            "m0": "0",
            "m1": "0",
            "real": str(1_767_225_600 * 10**9),
            "res": "0",
            "src": "date",
        }
    ]
)


def context(method: str = "", **facts: object) -> Context:
    """A context with that clock."""
    return Context(SIMPLE, method, 30.0, facts)


def part(text: str | bytes) -> BytesPart:
    """A part with this text."""
    return BytesPart(text.encode() if isinstance(text, str) else text)


def samples(*snapshots: tuple[float, str, str]) -> dict[str, BytesPart]:
    """The part that the sampler would write: (seconds of uptime, path, text) each."""
    lines = []
    for tick, (seconds, path, text) in enumerate(snapshots):
        lines.append(f"@ {tick} {int(seconds * 1e9)} {path}")
        lines += [f"@{line}" if line.startswith("@") else line for line in text.rstrip("\n").split("\n")]
    return {"samples": part("\n".join(lines) + "\n")}


def plain(parsed: Parsed) -> dict[str, Any]:
    """What a parser yielded, as JSON can hold it; numbers rounded to 9 significant digits."""
    return {
        "readable": parsed.readable,
        "warnings": [{"key": warning.key, "params": dict(warning.params)} for warning in parsed.warnings],
        "facts": json.loads(json.dumps(parsed.facts)),
        "profiles": [asdict(profile) for profile in parsed.profiles],
        "events": [
            {**asdict(event), "title": {"key": event.title.key, "params": dict(event.title.params)}}
            for event in parsed.events
        ],
        "tables": [
            {
                "kind": table.kind,
                "columns": [f"{column.id} {column.unit}".strip() for column in table.columns],
                "rows": [[_round(cell) for cell in row] for row in table.rows],
                **({"lines": list(table.lines)} if table.lines else {}),
            }
            for table in parsed.tables
        ],
        "series": [
            {
                "metric": series.metric,
                "labels": dict(series.labels),
                "axis": series.axis,
                "axis_values": list(series.axis_values),
                "part": series.part,
                "t_ns": [int(t) for t in series.t_ns],
                "lines": None if series.lines is None else [int(line) for line in series.lines],
                "values": [[_round(float(cell)) for cell in row] for row in series.values],
            }
            for series in parsed.series
        ],
    }


def _round(cell: Any) -> Any:
    if isinstance(cell, float):
        return None if math.isnan(cell) else float(f"{cell:.9g}")
    return cell


def values(parsed: Parsed, metric: str, **labels: str) -> np.ndarray:
    """The values of the one series with these labels."""
    [item] = [s for s in parsed.series if s.metric == metric and dict(s.labels) == labels]
    return item.values


def axis(parsed: Parsed, metric: str, **labels: str) -> tuple[str, ...]:
    """The axis of the one series with these labels."""
    [item] = [s for s in parsed.series if s.metric == metric and dict(s.labels) == labels]
    return item.axis_values


def same(result: np.ndarray, requested: list[Any]) -> None:
    """These numbers, NaN where NaN is wanted."""
    np.testing.assert_allclose(result, np.array(requested, float).reshape(result.shape), rtol=1e-9)


def read_values(parsed: Parsed, metric: str) -> list[Any]:
    """Return the values of the only series of a metric."""
    [item] = [s for s in parsed.series if s.metric == metric]
    return list(item.values.tolist())


def read_rows(parsed: Parsed, kind: str) -> list[dict[str, Any]]:
    """Return the rows of the only table of a kind, as mappings by column."""
    [table] = [table for table in parsed.tables if table.kind == kind]
    names = [column.id for column in table.columns]
    assert len(table.lines) == len(table.rows)
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def find_node() -> str:
    """Return the path of Node.js itself: the `node` of a Python package starts it as its child and waits for it."""
    answer = subprocess.run(["node", "-p", "process.execPath"], capture_output=True, text=True, check=True)
    return answer.stdout.strip()
