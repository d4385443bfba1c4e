"""The longest waits of traced threads, on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.core.rules.view import Row, View, reads
from culprit.core.visuals.bodies.gantt import Gantt, Lane, Span
from culprit.core.visuals.calls import CLASSES, class_of
from culprit.core.visuals.contract import Builder, Visual

MAX_LANES = 24
MAX_SPANS = 400
#: What lies further apart than this is one broken clock and not one trace.
MAX_SPAN_MS = 3_600_000.0
TITLE = Text("What threads waited for", "线程在等什么")


def build(view: View) -> Sequence[Visual]:
    """One picture of the traced threads, those that waited longest first."""
    rows = [row for row in view.rows("strace_waits") if _spanned(row)]
    rows.sort(key=lambda row: -(row.number("wait") or 0.0))
    rows = rows[:MAX_SPANS]
    if not rows:
        return ()
    start_ms = min((row.number("t") or 0.0) * 1e3 for row in rows)
    rows = [row for row in rows if (row.number("t") or 0.0) * 1e3 - start_ms <= MAX_SPAN_MS]
    by_thread: dict[str, list[Row]] = {}
    for row in rows:
        by_thread.setdefault(row.text("tid"), []).append(row)
    order = sorted(by_thread, key=lambda tid: -sum(row.number("wait") or 0.0 for row in by_thread[tid]))
    lanes = tuple(_lane(tid, by_thread[tid], start_ms) for tid in order[:MAX_LANES])
    end_ms = max((span.at_ms + span.ms for lane in lanes for span in lane.spans), default=0.0)
    seen = {span.cls for lane in lanes for span in lane.spans}
    classes = tuple((name, label) for name, label in CLASSES if name in seen)
    body = Gantt(start_ms, max(end_ms, 0.001), classes, lanes)
    left_out = max(0, len(order) - MAX_LANES)
    return (Visual(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _spanned(row: Row) -> bool:
    """A wait with a beginning and a length; a negative one is a damaged line."""
    t, wait = row.number("t"), row.number("wait")
    return (
        t is not None and wait is not None and math.isfinite(t) and 0 <= t < 1e11 and 0 <= wait <= MAX_SPAN_MS
    )


def _lane(tid: str, rows: Sequence[Row], start_ms: float) -> Lane:
    ordered = sorted(rows, key=lambda row: row.number("t") or 0.0)
    comm = next((row.text("comm") for row in ordered if row.text("comm")), "")
    spans = tuple(_span(row, start_ms) for row in ordered)
    return Lane(tid, f"{comm} {tid}".strip(), replace(ordered[0].cite, lines=()), spans)


def _span(row: Row, start_ms: float) -> Span:
    call, what = row.text("syscall"), row.text("what")
    return Span(
        round((row.number("t") or 0.0) * 1e3 - start_ms, 3),
        row.number("wait") or 0.0,
        class_of(call, what),
        f"{call} {what}".strip()[:120],
        row.cite.lines[0] if row.cite.lines else 0,
        row.text("error")[:20],
    )


BUILDER = Builder(
    id="thread-timeline",
    title=TITLE,
    says=Text(
        "One lane per thread: its longest system calls, by what they waited for. Gaps are time on a CPU, waiting for "
        "one, or calls too short to be listed. Spans that end together in several lanes are one cause; a word on a "
        "span is the error that it returned. Payloads were removed on the host.",
        "每条泳道是一个线程：其最长的系统调用，按等待对象着色。空白是在 CPU 上、等 CPU，或调用太短未列出。"
        "多条泳道同时结束的片段出自同一原因；片段上的文字是返回的错误。载荷在主机上已去除。",
    ),
    reads=reads(tables=["strace_waits"]),
    collectors=("strace",),
    rules=("F-LOCK-FUTEX-PILEUP", "F-LOCK-FUTEX-LONG", "F-LOCK-FUTEX-BUSY", "F-APP-EPIPE", "F-PROC-BLOCKED",
           "F-APP-TIMEOUT-MODE"),
    build=build,
)  # fmt: skip
