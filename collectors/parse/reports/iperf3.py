"""`iperf3 --json`: one stage for each interval, and the whole test.

Format: https://github.com/esnet/iperf, src/iperf_client_api.c and what `iperf3 -J` of versions 3.1 to 3.18 writes. The
last row, `whole`, counts what was received, which is what the network transported.
"""

from __future__ import annotations

import math
import re

from collectors.contract import Parsed, Part
from collectors.parse.reports.load_test import MAX_STAGES, LoadStage, build_load_table, refuse_report
from collectors.parse.reports.report_json import (
    Json,
    LineIndex,
    as_items,
    as_mapping,
    as_number,
    as_text,
    decode_text,
    load_json,
)

_SUM = re.compile(r'"sum"\s*:')


def parse_iperf3(part: Part, name: str) -> Parsed:
    """Return the intervals and the totals. A failed test includes its reason."""
    text = decode_text(part)
    if text is None:
        return refuse_report("reports.too_long")
    whole = as_mapping(load_json(text))
    if not {"start", "intervals", "end"} <= whole.keys():
        return refuse_report("reports.not_iperf3")
    intervals = as_items(whole.get("intervals"))
    if not intervals:
        return refuse_report(
            "reports.iperf3_failed", message=as_text(whole.get("error"), 300) or "no intervals"
        )
    lines = LineIndex(text)
    places = [match.start() for match in _SUM.finditer(text)][: MAX_STAGES - 1]
    stages = []
    for item, place in zip(intervals, places, strict=False):
        total = as_mapping(item.get("sum"))
        if total.get("omitted") is not True:  # the warm-up that the user left out
            stages.append(_build_stage(_read_span(total), total, lines.at(place)))
    end = as_mapping(whole.get("end"))
    sent, received = as_mapping(end.get("sum_sent")), as_mapping(end.get("sum_received"))
    total = received or sent or as_mapping(end.get("sum"))
    last = _build_stage("whole", {**as_mapping(end.get("sum")), **total}, lines.naming("sum_received"))
    last.retransmits = as_number(sent.get("retransmits"))
    return Parsed(tables=(build_load_table([*stages, last], name),), facts=_read_facts(whole))


def _build_stage(stage: str, total: Json, line: int) -> LoadStage:
    return LoadStage(
        stage,
        line,
        as_number(total.get("seconds")),
        mbit_per_s=as_number(total.get("bits_per_second")) / 1e6,
        retransmits=as_number(total.get("retransmits")),
        jitter_ms=as_number(total.get("jitter_ms")),
        lost_pct=as_number(total.get("lost_percent")),
    )


def _read_span(total: Json) -> str:
    start, end = as_number(total.get("start")), as_number(total.get("end"))
    return f"{start:.1f}-{end:.1f} s" if math.isfinite(start) and math.isfinite(end) else ""


def _read_facts(whole: Json) -> Json:
    start = as_mapping(whole.get("start"))
    test = as_mapping(start.get("test_start"))
    facts = {
        "version": as_text(start.get("version"), 60),
        "protocol": as_text(test.get("protocol"), 20),
        "error": as_text(whole.get("error"), 300),
    }
    return {name: value for name, value in facts.items() if value}
