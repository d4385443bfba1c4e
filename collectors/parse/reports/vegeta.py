"""JSON of vegeta: a report (`vegeta report -type=json`), or single results (`vegeta encode -to=json`).

Format: https://github.com/tsenart/vegeta, lib/metrics.go and lib/results.go. Latencies and durations are nanoseconds;
results are one object to a line, with the time at which the request began.
"""

from __future__ import annotations

import math
import re
from datetime import datetime

from collectors.contract import Parsed, Part
from collectors.parse.reports.load_test import (
    MAX_REQUESTS,
    LoadRequest,
    LoadStage,
    build_load_table,
    refuse_report,
    summarize_requests,
)
from collectors.parse.reports.report_json import (
    Json,
    LineIndex,
    as_mapping,
    as_number,
    as_text,
    decode_text,
    load_json,
)

_PERCENTILES = {"50th": "p50_ms", "90th": "p90_ms", "99th": "p99_ms", "99.9th": "p999_ms"}
_TIMEOUT = re.compile(r"timeout|deadline exceeded", re.IGNORECASE)
_FRACTION = re.compile(r"\.(\d+)")
_PATH = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*([^?#]*)", re.IGNORECASE)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def parse_vegeta(part: Part, name: str) -> Parsed:
    """A report as one stage, results as one stage for each attack and series over time."""
    text = decode_text(part)
    if text is None:
        return refuse_report("reports.too_long")
    whole = as_mapping(load_json(text))
    if "latencies" in whole:
        return Parsed(tables=(build_load_table([_build_stage(whole, LineIndex(text))], name),))
    requests = []
    for line, row in enumerate(text.split("\n"), start=1):
        request = _parse_request(as_mapping(load_json(row)), line) if row.strip() else None
        if request is not None:
            requests.append(request)
        if len(requests) >= MAX_REQUESTS:
            break
    return summarize_requests(requests, name) if requests else refuse_report("reports.not_vegeta")


def _build_stage(whole: Json, lines: LineIndex) -> LoadStage:
    latencies = as_mapping(whole.get("latencies"))
    requests, share = as_number(whole.get("requests")), as_number(whole.get("success"))
    codes = {as_text(code): as_number(count) for code, count in as_mapping(whole.get("status_codes")).items()}
    failed = codes.get("0", 0.0)
    answered = requests - failed
    good = sum(count for code, count in codes.items() if code.startswith("2"))
    errors = whole.get("errors")
    stage = LoadStage(
        "attack",
        lines.naming("latencies"),
        as_number(whole.get("duration")) / 1e9,
        requests,
        as_number(whole.get("rate")),
        as_number(whole.get("throughput")),
        100.0 * (answered - good) / answered if codes and answered > 0 else 100.0 * (1.0 - share),
        errors=failed if codes else math.nan,
    )
    # The report lists each kind of error once: how many waited too long is not in it, only that none did.
    kinds = [error for error in errors if isinstance(error, str)] if isinstance(errors, list) else []
    stage.timeouts = math.nan if any(_TIMEOUT.search(kind) for kind in kinds) else 0
    for message, column in _PERCENTILES.items():
        setattr(stage, column, as_number(latencies.get(message)) / 1e6)
    return stage


def _parse_request(item: Json, line: int) -> LoadRequest | None:
    start_ns, latency, code = (
        parse_utc_ns(as_text(item.get("timestamp"))),
        as_number(item.get("latency")),
        as_number(item.get("code")),
    )
    if start_ns is None or not math.isfinite(latency) or not 0 <= code < 1000:
        return None
    return LoadRequest(
        as_text(item.get("attack")) or "attack",
        extract_route(as_text(item.get("method"), 20), as_text(item.get("url"), 2000)),
        start_ns,
        latency / 1e6,
        int(code),
        bool(_TIMEOUT.search(as_text(item.get("error"), 500))),
        line,
    )


def extract_route(method: str, url: str) -> str:
    """Return method and path of a request. Query and fragment may hold personal data and are left out."""
    match = _PATH.match(url)
    path = match[1] if match else ""
    return f"{method} {path or '/'}".strip()[:200]


def parse_utc_ns(text: str) -> int | None:
    """Nanoseconds of a time as Go writes it in JSON (RFC 3339, up to nine digits); None where it is none."""
    fraction = _FRACTION.search(text)
    try:
        whole = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
        since = whole - _EPOCH
    except (ValueError, TypeError, OverflowError):
        return None
    nanos = int(fraction[1][:9].ljust(9, "0")) if fraction else 0
    seconds = since.days * 86_400 + since.seconds
    return seconds * 10**9 + nanos if seconds > 0 else None
