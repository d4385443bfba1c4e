"""Chart of the longest waits of traced threads on a common time axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.charts.bodies.gantt import Gantt, GanttBracket, GanttSpan, GanttTrack
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.syscall_classes import SYSCALL_CLASSES, classify_syscall
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_TRACKS = 24
MAX_SPANS = 400
MAX_BRACKETS = 200
#: Maximum range of the timestamps of a trace. A larger one indicates a broken clock.
MAX_SPAN_MS = 3_600_000.0
TITLE = Text("What threads waited for", "线程在等什么")


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one chart of the traced threads with the requests that they served, the longest total wait first."""
    rows = _list_longest(view, "strace_waits", "wait", MAX_SPANS)
    if not rows:
        return ()
    first_ms = min(_read_start_ms(row) for row in rows)
    requested = _list_longest(view, "strace_requests", "took", MAX_BRACKETS)
    requested = [row for row in requested if abs(_read_start_ms(row) - first_ms) <= MAX_SPAN_MS]
    start_ms = min(first_ms, *(_read_start_ms(row) for row in requested)) if requested else first_ms
    rows = [row for row in rows if _read_start_ms(row) - start_ms <= MAX_SPAN_MS]
    waits, requests = _group_by_thread(rows), _group_by_thread(requested)
    order = sorted(waits, key=lambda tid: -sum(row.number("wait") or 0.0 for row in waits[tid]))
    tracks = tuple(
        _build_track(tid, waits[tid], requests.get(tid, ()), start_ms) for tid in order[:MAX_TRACKS]
    )
    ends = [span.at_ms + span.ms for track in tracks for span in track.spans]
    ends += [bracket.at_ms + bracket.ms for track in tracks for bracket in track.brackets]
    seen = {span.category for track in tracks for span in track.spans}
    categories = tuple((name, label) for name, label in SYSCALL_CLASSES if name in seen)
    body = Gantt(start_ms, max([0.001, *ends]), categories, tracks)
    left_out = max(0, len(order) - MAX_TRACKS)
    return (RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _list_longest(view: HostView, kind: str, length: str, most: int) -> list[TableRow]:
    """Return at most `most` rows with a start and a non-negative length, the longest first."""
    rows = [row for row in view.rows(kind) if _is_plausible_span(row.number("t"), row.number(length))]
    return sorted(rows, key=lambda row: -(row.number(length) or 0.0))[:most]


def _is_plausible_span(t: float | None, ms: float | None) -> bool:
    return t is not None and ms is not None and math.isfinite(t) and 0 <= t < 1e11 and 0 <= ms <= MAX_SPAN_MS


def _read_start_ms(row: TableRow) -> float:
    return (row.number("t") or 0.0) * 1e3


def _group_by_thread(rows: Sequence[TableRow]) -> dict[str, list[TableRow]]:
    table_rows: dict[str, list[TableRow]] = {}
    for row in rows:
        table_rows.setdefault(row.text("tid"), []).append(row)
    return table_rows


def _build_track(
    tid: str, rows: Sequence[TableRow], requests: Sequence[TableRow], start_ms: float
) -> GanttTrack:
    ordered = sorted(rows, key=lambda row: row.number("t") or 0.0)
    comm = next((row.text("comm") for row in ordered if row.text("comm")), "")
    spans = tuple(_build_span(row, start_ms) for row in ordered)
    served = sorted(requests, key=lambda row: row.number("t") or 0.0)
    brackets = tuple(_build_bracket(row, tid, start_ms) for row in served)
    return GanttTrack(tid, f"{comm} {tid}".strip(), replace(ordered[0].citation, lines=()), spans, brackets)


def _build_bracket(row: TableRow, tid: str, start_ms: float) -> GanttBracket:
    by = row.text("answered_by")
    label = f"{row.text('what')} → {by}" if by and by != tid else row.text("what")
    return GanttBracket(
        round(_read_start_ms(row) - start_ms, 3),
        row.number("took") or 0.0,
        label[:120],
        row.citation.lines[0] if row.citation.lines else 0,
        open=not row.number("answered"),
    )


def _build_span(row: TableRow, start_ms: float) -> GanttSpan:
    call, what = row.text("syscall"), row.text("what")
    return GanttSpan(
        round(_read_start_ms(row) - start_ms, 3),
        row.number("wait") or 0.0,
        classify_syscall(call, what),
        f"{call} {what}".strip()[:120],
        row.citation.lines[0] if row.citation.lines else 0,
        row.text("error")[:20],
    )


BUILDER = ChartBuilder(
    id="thread-timeline",
    title=TITLE,
    summary=Text(
        "One track per thread: its longest system calls, by what they waited for. Gaps are time on a CPU, waiting for "
        "one, or calls too short to be listed. Spans that end together in several tracks are one cause; a word on a "
        "span is the error that it returned. A bracket above a track is a request that the thread took in, until its "
        "last answer; a dashed one was still open at the end. Payloads were removed on the host.",
        "每条轨道是一个线程：其最长的系统调用，按等待对象着色。空白是在 CPU 上、等 CPU，或调用太短未列出。"
        "多条轨道同时结束的片段出自同一原因；片段上的文字是返回的错误。轨道上方的括线是该线程接收的请求，直至最后一次应答；"
        "虚线表示结束时仍未完成。载荷在主机上已去除。",
    ),
    reads=request_view(tables=["strace_requests", "strace_waits"]),
    collectors=("strace",),
    rules=("F-LOCK-FUTEX-PILEUP", "F-LOCK-FUTEX-LONG", "F-LOCK-FUTEX-BUSY", "F-APP-EPIPE", "F-PROC-BLOCKED",
           "F-APP-TIMEOUT-MODE"),
    build=build_charts,
)  # fmt: skip
