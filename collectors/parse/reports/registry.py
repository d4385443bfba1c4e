"""Reports of other programs: which one a file is, and what reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from collectors.contract import Parsed, Part, Sentence
from collectors.parse.reports import iperf3, jmeter, prometheus_range, trace_table, vegeta, wrk
from collectors.parse.reports.report_json import decode_text

Report = Literal["prometheus", "jaeger", "zipkin", "otlp", "wrk", "vegeta", "iperf3", "jmeter"]
REPORTS: tuple[Report, ...] = get_args(Report)


def _parse_prometheus(part: Part, name: str) -> Parsed:
    text = decode_text(part)
    if text is None:
        return Parsed(readable=False, warnings=(Sentence("reports.too_long"),))
    return prometheus_range.build_range_table(prometheus_range.parse_range_answer(text), name)


READERS: Mapping[Report, Callable[[Part, str], Parsed]] = {
    "prometheus": _parse_prometheus,
    "jaeger": lambda part, name: trace_table.parse_traces("jaeger", part, name),
    "zipkin": lambda part, name: trace_table.parse_traces("zipkin", part, name),
    "otlp": lambda part, name: trace_table.parse_traces("otlp", part, name),
    "wrk": wrk.parse_wrk,
    "vegeta": vegeta.parse_vegeta,
    "iperf3": iperf3.parse_iperf3,
    "jmeter": jmeter.parse_jmeter,
}
"""Report → reader of a part by its name."""

# The names that only this format has, among the first bytes of a file.
_JSON_MARKS: tuple[tuple[Report, tuple[bytes, ...]], ...] = (
    ("otlp", (b'"resourceSpans"',)),
    ("prometheus", (b'"resultType"', b'"status"')),
    ("prometheus", (b'"errorType"', b'"status"')),
    ("iperf3", (b'"start"', b'"iperf ')),
    ("jaeger", (b'"traceID"', b'"spans"')),
    ("vegeta", (b'"latencies"', b'"bytes_in"')),
    ("vegeta", (b'"attack"', b'"seq"', b'"latency"')),
    ("zipkin", (b'"traceId"', b'"id"')),
)
_WRK = re.compile(rb"(?:^|\n)Running \S+ test @ \S+")


def detect_report(head: bytes) -> Report | None:
    """Which report a file is, from its first unpacked bytes; None where it is none of them."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in {b"{", b"["}:
        return next((kind for kind, marks in _JSON_MARKS if all(mark in head for mark in marks)), None)
    first = start.partition(b"\n")[0]
    if b"timeStamp" in first and b"elapsed" in first and b"," in first:
        return "jmeter"
    return "wrk" if _WRK.search(start[:4096]) else None
