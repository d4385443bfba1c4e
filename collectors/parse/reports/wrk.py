"""The text that wrk and wrk2 print; several runs may stand behind one another.

Format: https://github.com/wg/wrk, src/wrk.c (`Running … test @ URL` to `Transfer/sec`); wrk2 writes more percentiles
and gives them three decimals.
"""

from __future__ import annotations

import math
import re

from collectors.contract import Parsed, Part
from collectors.parse.reports.load_test import LoadStage, build_load_table, refuse_report
from collectors.parse.reports.report_json import decode_text

HEAD = re.compile(r"Running (\S+) test @ (\S+)")
_REQUESTS = re.compile(r"\s*(\d+) requests in (\d+(?:\.\d+)?)(us|ms|s|m|h),")
_PERCENTILE = re.compile(r"\s*(\d+(?:\.\d+)?)%\s+(\d+(?:\.\d+)?)(us|ms|s|m|h)\s*$")
_SOCKET = re.compile(r"\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_NON2XX = re.compile(r"\s*Non-2xx or 3xx responses: (\d+)")
_RATE = re.compile(r"Requests/sec:\s*(\d+(?:\.\d+)?)")
_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 60e3, "h": 3600e3}
_COLUMNS = {50.0: "p50_ms", 90.0: "p90_ms", 99.0: "p99_ms", 99.9: "p999_ms"}
MAX_LINE = 4096


def parse_wrk(part: Part, name: str) -> Parsed:
    """One stage for each run of wrk."""
    text = decode_text(part)
    if text is None:
        return refuse_report("reports.too_long")
    stages: list[LoadStage] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            continue
        if head := HEAD.match(line):
            # Without a word about errors there were none: wrk prints these lines only where it has counted some.
            stages.append(LoadStage(head[2][:300], number, errors=0, timeouts=0, non2xx_pct=0))
        elif stages:
            _add_match(stages[-1], line)
    done = [_parse_whole(stage) for stage in stages if not math.isnan(stage.requests)]
    return Parsed(tables=(build_load_table(done, name),)) if done else refuse_report("reports.not_wrk")


def _add_match(stage: LoadStage, line: str) -> None:
    if match := _REQUESTS.match(line):
        stage.requests, stage.seconds = float(match[1]), float(match[2]) * _MS[match[3]] / 1e3
    elif match := _PERCENTILE.match(line):
        column = _COLUMNS.get(float(match[1]))
        if column is not None:
            setattr(stage, column, float(match[2]) * _MS[match[3]])
    elif match := _SOCKET.match(line):
        stage.errors, stage.timeouts = sum(map(float, match.groups())), float(match[4])
    elif match := _NON2XX.match(line):
        stage.non2xx_pct = float(match[1])  # a count for now; `_whole` makes it a share
    elif match := _RATE.match(line):
        stage.rps = float(match[1])


def _parse_whole(stage: LoadStage) -> LoadStage:
    failed = stage.non2xx_pct
    stage.non2xx_pct = 100.0 * failed / stage.requests if stage.requests > 0 else math.nan
    if stage.requests > 0:
        stage.goodput_per_s = stage.rps * (stage.requests - failed) / stage.requests
    return stage
