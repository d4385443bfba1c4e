"""JSON of vegeta: a report (`vegeta report -type=json`), or single results (`vegeta encode -to=json`).

Format: https://github.com/tsenart/vegeta, lib/metrics.go and lib/results.go. Latencies and durations are nanoseconds;
results are one object to a line, with the time at which the request began.
"""

from __future__ import annotations

import math
import re
from datetime import datetime

from collectors.contract import Parsed, Part
from collectors.parse.load_test import MAX_REQUESTS, Request, Stage, of_requests, refused, table
from collectors.parse.report_json import Json, Lines, load, mapping, number, text_of, words

_PERCENTILES = {"50th": "p50_ms", "90th": "p90_ms", "99th": "p99_ms", "99.9th": "p999_ms"}
_TIMEOUT = re.compile(r"timeout|deadline exceeded", re.IGNORECASE)
_FRACTION = re.compile(r"\.(\d+)")
_PATH = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*([^?#]*)", re.IGNORECASE)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def read(part: Part, name: str) -> Parsed:
    """A report as one stage, results as one stage for each attack and series over time."""
    text = text_of(part)
    if text is None:
        return refused("reports.too_long")
    whole = mapping(load(text))
    if "latencies" in whole:
        return Parsed(tables=(table([_stage(whole, Lines(text))], name),))
    requests = []
    for line, row in enumerate(text.split("\n"), start=1):
        one = _request(mapping(load(row)), line) if row.strip() else None
        if one is not None:
            requests.append(one)
        if len(requests) >= MAX_REQUESTS:
            break
    return of_requests(requests, name) if requests else refused("reports.not_vegeta")


def _stage(whole: Json, lines: Lines) -> Stage:
    latencies = mapping(whole.get("latencies"))
    requests, share = number(whole.get("requests")), number(whole.get("success"))
    codes = {words(code): number(count) for code, count in mapping(whole.get("status_codes")).items()}
    failed = codes.get("0", 0.0)
    answered = requests - failed
    good = sum(count for code, count in codes.items() if code.startswith("2"))
    errors = whole.get("errors")
    stage = Stage(
        "attack",
        lines.naming("latencies"),
        number(whole.get("duration")) / 1e9,
        requests,
        number(whole.get("rate")),
        number(whole.get("throughput")),
        100.0 * (answered - good) / answered if codes and answered > 0 else 100.0 * (1.0 - share),
        errors=failed if codes else math.nan,
    )
    # The report lists each kind of error once: how many waited too long is not in it, only that none did.
    kinds = [one for one in errors if isinstance(one, str)] if isinstance(errors, list) else []
    stage.timeouts = math.nan if any(_TIMEOUT.search(one) for one in kinds) else 0
    for said, column in _PERCENTILES.items():
        setattr(stage, column, number(latencies.get(said)) / 1e6)
    return stage


def _request(one: Json, line: int) -> Request | None:
    start_ns, latency, code = (
        utc_ns(words(one.get("timestamp"))),
        number(one.get("latency")),
        number(one.get("code")),
    )
    if start_ns is None or not math.isfinite(latency) or not 0 <= code < 1000:
        return None
    return Request(
        words(one.get("attack")) or "attack",
        route_of(words(one.get("method"), 20), words(one.get("url"), 2000)),
        start_ns,
        latency / 1e6,
        int(code),
        bool(_TIMEOUT.search(words(one.get("error"), 500))),
        line,
    )


def route_of(method: str, url: str) -> str:
    """Method and path of a request, without what may hold somebody's data: query and fragment."""
    found = _PATH.match(url)
    path = found[1] if found else ""
    return f"{method} {path or '/'}".strip()[:200]


def utc_ns(text: str) -> int | None:
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
