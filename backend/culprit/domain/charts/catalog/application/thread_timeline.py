"""The longest waits of traced threads, on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.core.rules.view import Row, View, reads
from culprit.core.visuals.bodies.gantt import Bracket, Gantt, Lane, Span
from culprit.core.visuals.calls import CLASSES, class_of
from culprit.core.visuals.contract import Builder, Visual

MAX_LANES = 24
MAX_SPANS = 400
MAX_BRACKETS = 200
#: What lies further apart than this is one broken clock and not one trace.
MAX_SPAN_MS = 3_600_000.0
TITLE = Text("What threads waited for", "线程在等什么")


def build(view: View) -> Sequence[Visual]:
    """One picture of the traced threads, those that waited longest first, with the requests that they served."""
    rows = _longest(view, "strace_waits", "wait", MAX_SPANS)
    if not rows:
        return ()
    first_ms = min(_at_ms(row) for row in rows)
    asked = _longest(view, "strace_requests", "took", MAX_BRACKETS)
    asked = [row for row in asked if abs(_at_ms(row) - first_ms) <= MAX_SPAN_MS]
    start_ms = min(first_ms, *(_at_ms(row) for row in asked)) if asked else first_ms
    rows = [row for row in rows if _at_ms(row) - start_ms <= MAX_SPAN_MS]
    waits, requests = _by_thread(rows), _by_thread(asked)
    order = sorted(waits, key=lambda tid: -sum(row.number("wait") or 0.0 for row in waits[tid]))
    lanes = tuple(_lane(tid, waits[tid], requests.get(tid, ()), start_ms) for tid in order[:MAX_LANES])
    ends = [one.at_ms + one.ms for lane in lanes for one in lane.spans]
    ends += [one.at_ms + one.ms for lane in lanes for one in lane.brackets]
    seen = {span.cls for lane in lanes for span in lane.spans}
    classes = tuple((name, label) for name, label in CLASSES if name in seen)
    body = Gantt(start_ms, max([0.001, *ends]), classes, lanes)
    left_out = max(0, len(order) - MAX_LANES)
    return (Visual(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _longest(view: View, kind: str, length: str, most: int) -> list[Row]:
    """The rows that have a beginning and a length, the longest first; a negative one is a damaged line."""
    rows = [row for row in view.rows(kind) if _spanned(row.number("t"), row.number(length))]
    return sorted(rows, key=lambda row: -(row.number(length) or 0.0))[:most]


def _spanned(t: float | None, ms: float | None) -> bool:
    return t is not None and ms is not None and math.isfinite(t) and 0 <= t < 1e11 and 0 <= ms <= MAX_SPAN_MS


def _at_ms(row: Row) -> float:
    return (row.number("t") or 0.0) * 1e3


def _by_thread(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.text("tid"), []).append(row)
    return found


def _lane(tid: str, rows: Sequence[Row], requests: Sequence[Row], start_ms: float) -> Lane:
    ordered = sorted(rows, key=lambda row: row.number("t") or 0.0)
    comm = next((row.text("comm") for row in ordered if row.text("comm")), "")
    spans = tuple(_span(row, start_ms) for row in ordered)
    served = sorted(requests, key=lambda row: row.number("t") or 0.0)
    brackets = tuple(_bracket(row, tid, start_ms) for row in served)
    return Lane(tid, f"{comm} {tid}".strip(), replace(ordered[0].cite, lines=()), spans, brackets)


def _bracket(row: Row, tid: str, start_ms: float) -> Bracket:
    by = row.text("answered_by")
    label = f"{row.text('what')} → {by}" if by and by != tid else row.text("what")
    return Bracket(
        round(_at_ms(row) - start_ms, 3),
        row.number("took") or 0.0,
        label[:120],
        row.cite.lines[0] if row.cite.lines else 0,
        open=not row.number("answered"),
    )


def _span(row: Row, start_ms: float) -> Span:
    call, what = row.text("syscall"), row.text("what")
    return Span(
        round(_at_ms(row) - start_ms, 3),
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
        "span is the error that it returned. A bracket above a lane is a request that the thread took in, until its "
        "last answer; a dashed one was still open at the end. Payloads were removed on the host.",
        "每条泳道是一个线程：其最长的系统调用，按等待对象着色。空白是在 CPU 上、等 CPU，或调用太短未列出。"
        "多条泳道同时结束的片段出自同一原因；片段上的文字是返回的错误。泳道上方的括线是该线程接收的请求，直至最后一次应答；"
        "虚线表示结束时仍未完成。载荷在主机上已去除。",
    ),
    reads=reads(tables=["strace_requests", "strace_waits"]),
    collectors=("strace",),
    rules=("F-LOCK-FUTEX-PILEUP", "F-LOCK-FUTEX-LONG", "F-LOCK-FUTEX-BUSY", "F-APP-EPIPE", "F-PROC-BLOCKED",
           "F-APP-TIMEOUT-MODE"),
    build=build,
)  # fmt: skip
