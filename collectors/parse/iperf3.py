"""`iperf3 --json`: one stage for each interval, and the whole test.

Format: https://github.com/esnet/iperf, src/iperf_client_api.c and what `iperf3 -J` of versions 3.1 to 3.18 writes. The
last row, `whole`, counts what was received, which is what a network has carried.
"""

from __future__ import annotations

import math
import re

from collectors.contract import Parsed, Part
from collectors.parse.load_test import MAX_STAGES, Stage, refused, table
from collectors.parse.report_json import Json, Lines, items, load, mapping, number, text_of, words

_SUM = re.compile(r'"sum"\s*:')


def read(part: Part, name: str) -> Parsed:
    """The intervals and the whole. A test that failed says why."""
    text = text_of(part)
    if text is None:
        return refused("reports.too_long")
    whole = mapping(load(text))
    if not {"start", "intervals", "end"} <= whole.keys():
        return refused("reports.not_iperf3")
    intervals = items(whole.get("intervals"))
    if not intervals:
        return refused("reports.iperf3_failed", said=words(whole.get("error"), 300) or "no intervals")
    lines = Lines(text)
    places = [found.start() for found in _SUM.finditer(text)][: MAX_STAGES - 1]
    stages = []
    for one, place in zip(intervals, places, strict=False):
        total = mapping(one.get("sum"))
        if total.get("omitted") is not True:  # the warm-up that somebody asked to leave out
            stages.append(_stage(_span(total), total, lines.at(place)))
    end = mapping(whole.get("end"))
    sent, received = mapping(end.get("sum_sent")), mapping(end.get("sum_received"))
    total = received or sent or mapping(end.get("sum"))
    last = _stage("whole", {**mapping(end.get("sum")), **total}, lines.naming("sum_received"))
    last.retransmits = number(sent.get("retransmits"))
    return Parsed(tables=(table([*stages, last], name),), facts=_facts(whole))


def _stage(stage: str, total: Json, line: int) -> Stage:
    return Stage(
        stage,
        line,
        number(total.get("seconds")),
        mbit_per_s=number(total.get("bits_per_second")) / 1e6,
        retransmits=number(total.get("retransmits")),
        jitter_ms=number(total.get("jitter_ms")),
        lost_pct=number(total.get("lost_percent")),
    )


def _span(total: Json) -> str:
    start, end = number(total.get("start")), number(total.get("end"))
    return f"{start:.1f}-{end:.1f} s" if math.isfinite(start) and math.isfinite(end) else ""


def _facts(whole: Json) -> Json:
    start = mapping(whole.get("start"))
    test = mapping(start.get("test_start"))
    facts = {
        "version": words(start.get("version"), 60),
        "protocol": words(test.get("protocol"), 20),
        "error": words(whole.get("error"), 300),
    }
    return {name: value for name, value in facts.items() if value}
