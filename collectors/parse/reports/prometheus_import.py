"""Answers of a service's Prometheus: one part for each query, and `query.json` with the queries.

`rate.json` and `errors.json` are requests per second, `p50.json` to `p999.json` latencies in `latency_unit`.
"""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Context, Parsed, Part, Sentence, Series
from collectors.parse.reports import prometheus_range
from collectors.parse.reports.prometheus_range import RangeAnswer, build_range_series, compute_share_pct
from collectors.parse.reports.report_json import as_mapping, decode_text, load_json

QUERY_PART = "query.json"
QUANTILES: Mapping[str, str] = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p999": "0.999"}
"""Name of a part → the quantile that its query asks for."""

_MS = {"s": 1e3, "ms": 1.0}


def parse_prometheus_import(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Series of the application over the capture and the time around it. A refused query is a warning."""
    mapping = as_mapping(load_json(decode_text(parts[QUERY_PART]) or "")) if QUERY_PART in parts else {}
    answers = {name: _read_answer(parts, name) for name in ("rate", "errors", *QUANTILES)}
    range_series: list[Series] = build_range_series("app.requests_per_s", answers["rate"], "rate.json")
    if answers["errors"].refusal is None:
        range_series += compute_share_pct("app.errors_pct", answers["errors"], answers["rate"], "errors.json")
    factor = _MS.get(str(mapping.get("latency_unit")), 1e3)
    for name in QUANTILES:
        range_series += build_range_series(f"app.{name}_ms", answers[name], f"{name}.json", factor)
    refusals = [answer.refusal for answer in answers.values() if answer.refusal is not None]
    warnings: list[Sentence] = []
    for refusal in (*refusals, *(warning for answer in answers.values() for warning in answer.warnings)):
        if refusal not in warnings:
            warnings.append(refusal)
    if not range_series and not refusals:
        warnings.append(Sentence("reports.prometheus_empty"))
    return Parsed(series=tuple(range_series), warnings=tuple(warnings), readable=len(refusals) < len(answers))


def _read_answer(parts: Mapping[str, Part], name: str) -> RangeAnswer:
    part = parts.get(f"{name}.json")
    if part is None:
        return RangeAnswer(refusal=Sentence("reports.not_asked", {"name": name}))
    text = decode_text(part)
    return (
        prometheus_range.parse_range_answer(text)
        if text is not None
        else RangeAnswer(refusal=Sentence("reports.too_long"))
    )
