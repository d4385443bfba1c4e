"""Where the time of traces goes: self time by operation.

The self time of a span is what of its duration no child of it was at work. Children that overlap count once, and
what a child does after its parent has ended is not taken from the parent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from collectors.contract import Column, Parsed, Part, Sentence, Table
from collectors.parse.reports.report_json import Json, LineIndex, decode_text, number_or_none
from collectors.parse.reports.trace_spans import MAX_SPANS, TraceSpan, parse_jaeger, parse_otlp, parse_zipkin

READERS: Mapping[str, Callable[[str], list[TraceSpan] | None]] = {
    "jaeger": parse_jaeger,
    "zipkin": parse_zipkin,
    "otlp": parse_otlp,
}
MAX_ROWS = 200
COLUMNS = (
    Column("service"),
    Column("operation"),
    Column("count", "count"),
    Column("errors", "count"),
    Column("p50_ms", "ms"),
    Column("p99_ms", "ms"),
    Column("self_p50_ms", "ms"),
    Column("self_p99_ms", "ms"),
    Column("self_total_ms", "ms"),
    Column("self_share_pct", "pct"),
)


@dataclass(slots=True)
class _Operation:
    durations: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    errors: int = 0


def parse_traces(kind: str, part: Part, name: str) -> Parsed:
    """The table `spans_by_operation` of a file of traces, the costliest operation first."""
    text = decode_text(part)
    if text is None:
        return Parsed(readable=False, warnings=(Sentence("reports.too_long"),))
    spans = READERS[kind](text)
    if not spans:
        return Parsed(readable=False, warnings=(Sentence("reports.no_spans"),))
    warnings = (Sentence("reports.too_many_spans", {"limit": MAX_SPANS}),) if len(spans) == MAX_SPANS else ()
    operations = _group_by_operation(spans)
    ranked = sorted(operations.items(), key=lambda operation: -sum(operation[1].own))
    total = sum(sum(operation.own) for operation in operations.values())
    lines = LineIndex(text)
    rows = tuple(_build_row(*item, total) for item in ranked[:MAX_ROWS])
    table = Table(
        "spans_by_operation", COLUMNS, rows, name, tuple(lines.naming(key[1]) for key, _ in ranked[:MAX_ROWS])
    )
    return Parsed(tables=(table,), facts=_build_facts(spans, ranked[0], total), warnings=warnings)


def compute_self_times(spans: Sequence[TraceSpan]) -> list[float]:
    """The self time of each span in nanoseconds."""
    children: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for span in spans:
        if span.parent and span.parent != span.id:
            children[span.trace, span.parent].append((span.start_ns, span.end_ns))
    return [_self_time(span, children.get((span.trace, span.id), [])) for span in spans]


def _self_time(span: TraceSpan, children: list[tuple[float, float]]) -> float:
    taken, reached = 0.0, span.start_ns
    for start, end in sorted(children):
        start, end = max(start, reached), min(end, span.end_ns)  # noqa: PLW2901 - cut to what is left
        if end > start:
            taken += end - start
            reached = end
    return span.end_ns - span.start_ns - taken


def _group_by_operation(spans: Sequence[TraceSpan]) -> dict[tuple[str, str], _Operation]:
    operations: dict[tuple[str, str], _Operation] = defaultdict(_Operation)
    for span, own in zip(spans, compute_self_times(spans), strict=True):
        operation = operations[span.service, span.operation]
        operation.durations.append(span.end_ns - span.start_ns)
        operation.own.append(own)
        operation.errors += span.error
    return operations


def _build_row(
    key: tuple[str, str], operation: _Operation, total: float
) -> tuple[str | int | float | None, ...]:
    p50, p99 = np.percentile(operation.durations, (50, 99)) / 1e6
    own50, own99 = np.percentile(operation.own, (50, 99)) / 1e6
    own = sum(operation.own)
    share = 100.0 * own / total if total > 0 else float("nan")
    return (
        *key,
        len(operation.durations),
        operation.errors,
        *(number_or_none(float(value)) for value in (p50, p99, own50, own99, own / 1e6)),
        number_or_none(share),
    )


def _build_facts(spans: Sequence[TraceSpan], first: tuple[tuple[str, str], _Operation], total: float) -> Json:
    (service, operation), item = first
    share = number_or_none(100.0 * sum(item.own) / total) if total > 0 else None
    return {
        "traces": len({span.trace for span in spans}),
        "spans": len(spans),
        "dominant": {"service": service, "operation": operation, "self_share_pct": share},
    }
