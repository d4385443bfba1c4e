"""Results of JMeter as CSV (JTL) with a header.

Format: https://jmeter.apache.org/usermanual/listeners.html#csvlogformat. `timeStamp` is milliseconds, `elapsed` is
milliseconds, `responseCode` is a number or the name of a Java exception where no answer came.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping

from collectors.contract import Parsed, Part
from collectors.parse.reports.load_test import MAX_REQUESTS, LoadRequest, refuse_report, summarize_requests
from collectors.parse.reports.report_json import as_number, decode_text

NEEDS = frozenset({"timeStamp", "elapsed", "label", "responseCode"})


def parse_jmeter(part: Part, name: str) -> Parsed:
    """One stage and one route for each label."""
    text = decode_text(part)
    if text is None:
        return refuse_report("reports.too_long")
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        if not set(rows.fieldnames or ()) >= NEEDS:
            return refuse_report("reports.not_jmeter")
        requests = list(_parse_requests(rows))
    except csv.Error:
        return refuse_report("reports.not_csv", line=rows.line_num)
    return summarize_requests(requests, name)


def _parse_requests(rows: csv.DictReader[str]) -> Iterator[LoadRequest]:
    count = 0
    for row in rows:
        request = _parse_request(row, rows.line_num)
        if request is not None:
            yield request
            count += 1
            if count >= MAX_REQUESTS:
                return


def _parse_request(row: Mapping[str, str | None], line: int) -> LoadRequest | None:
    stamp, elapsed = as_number(row.get("timeStamp")), as_number(row.get("elapsed"))
    if not 0 < stamp < 7.2e12 or not 0 <= elapsed < math.inf:
        return None
    code, label = row.get("responseCode") or "", (row.get("label") or "")[:200]
    status = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
    message = (row.get("responseMessage") or "") + code
    return LoadRequest(label, label, int(stamp * 1e6), elapsed, status, "timeout" in message.lower(), line)
