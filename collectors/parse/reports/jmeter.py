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
from collectors.parse.load_test import MAX_REQUESTS, Request, of_requests, refused
from collectors.parse.report_json import number, text_of

NEEDS = frozenset({"timeStamp", "elapsed", "label", "responseCode"})


def read(part: Part, name: str) -> Parsed:
    """One stage and one route for each label."""
    text = text_of(part)
    if text is None:
        return refused("reports.too_long")
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        if not set(rows.fieldnames or ()) >= NEEDS:
            return refused("reports.not_jmeter")
        requests = list(_requests(rows))
    except csv.Error:
        return refused("reports.not_csv", line=rows.line_num)
    return of_requests(requests, name)


def _requests(rows: csv.DictReader[str]) -> Iterator[Request]:
    count = 0
    for row in rows:
        one = _request(row, rows.line_num)
        if one is not None:
            yield one
            count += 1
            if count >= MAX_REQUESTS:
                return


def _request(row: Mapping[str, str | None], line: int) -> Request | None:
    stamp, elapsed = number(row.get("timeStamp")), number(row.get("elapsed"))
    if not 0 < stamp < 7.2e12 or not 0 <= elapsed < math.inf:
        return None
    code, label = row.get("responseCode") or "", (row.get("label") or "")[:200]
    status = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
    said = (row.get("responseMessage") or "") + code
    return Request(label, label, int(stamp * 1e6), elapsed, status, "timeout" in said.lower(), line)
