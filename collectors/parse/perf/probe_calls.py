"""What the probes of `collectors.shell.tracing` counted: calls of one function, by thread, and how long they took."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Column, Context, Parsed, Part, Sentence, Table
from collectors.parse.tables.tokens import parse_whole, to_text

_MAX_BYTES = 1 << 20
_MAX_LINES = 2_000
_COLUMNS = (
    Column("tid"),
    Column("comm"),
    Column("calls"),
    Column("calls_per_s", "per_s"),
    Column("call_share", "pct"),
    Column("returns"),
    Column("mean_us", "us"),
    Column("max_us", "us"),
)
_LATENCY = (Column("up_to_us", "us"), Column("calls"), Column("share", "pct"))

Row = tuple[str | int | float | None, ...]


def parse_probe_calls(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Callers, the busiest first, and a histogram of durations in powers of two.

    The kernel's own count of hits is exact; rows are of what fitted into the buffer.
    """
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    callers: list[tuple[int, list[int], str]] = []
    buckets: list[tuple[int, int, int]] = []
    facts: dict[str, object] = {}
    for number, line in enumerate(part.read(_MAX_BYTES).split(b"\n")[:_MAX_LINES], 1):
        kind, _, rest = line.partition(b" ")
        tokens = rest.split(b" ", 5)
        numbers = [value for token in tokens[:5] if (value := parse_whole(token)) is not None]
        if kind == b"P" and len(tokens) == 6 and len(numbers) == 5:
            callers.append((number, numbers, to_text(tokens[5], 64)))
        elif kind == b"B" and len(numbers) == 2:
            buckets.append((number, numbers[0], numbers[1]))
        elif kind == b"L" and len(numbers) == 1:
            facts["probe_events_dropped"] = numbers[0]
        elif kind == b"H" and len(tokens) == 2 and tokens[0] == b"enter" and numbers:
            facts["probe_hits"] = numbers[0]
    if "probe_hits" not in facts and not callers:
        return Parsed(warnings=(Sentence("warning.no_samples", {"part": "stdout"}),), readable=False)
    facts |= _parse_sections(parts)
    warnings = [Sentence("warning.probe_dropped")] if facts.get("probe_events_dropped") else []
    tables = [_build_caller_table(callers, context.seconds)] if callers else []
    if buckets:
        tables.append(_build_latency_table(buckets))
    return Parsed(tables=tuple(tables), facts=facts, warnings=tuple(warnings))


def _parse_sections(parts: Mapping[str, Part]) -> dict[str, object]:
    """What the script noted of itself: the function, the binary, and leftovers that it took away."""
    status = parts.get("status.txt")
    facts: dict[str, object] = {}
    for line in status.read(8192).split(b"\n")[:50] if status is not None else []:
        key, _, value = line.partition(b" ")
        if key in {b"function", b"binary", b"swept"}:
            facts[f"probe_{key.decode('ascii')}"] = to_text(value, 300)
    return facts


def _build_caller_table(callers: list[tuple[int, list[int], str]], seconds: float) -> Table:
    total = sum(numbers[1] for _, numbers, _ in callers)
    rows: list[Row] = []
    for _, (tid, calls, returns, us, max_us), comm in callers:
        rate = calls / seconds if seconds > 0 else None
        share = 100.0 * calls / total if total else None
        mean = us / returns if returns else None
        rows.append((tid, comm, calls, rate, share, returns, mean, max_us if returns else None))
    return Table("probe_calls", _COLUMNS, tuple(rows), lines=tuple(line for line, _, _ in callers))


def _build_latency_table(buckets: list[tuple[int, int, int]]) -> Table:
    total = sum(count for _, _, count in buckets)
    rows = tuple((up_to, count, 100.0 * count / total if total else None) for _, up_to, count in buckets)
    return Table("probe_latency", _LATENCY, rows, lines=tuple(line for line, _, _ in buckets))
