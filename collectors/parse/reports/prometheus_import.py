"""What the server asked a service's Prometheus for: one part for each query, and `query.json` that says what was asked.

`rate.json` and `errors.json` are requests per second, `p50.json` to `p999.json` latencies in `latency_unit`.
"""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Context, Parsed, Part, Sentence, Series
from collectors.parse import prometheus_range
from collectors.parse.prometheus_range import Answer, series, share_pct
from collectors.parse.report_json import load, mapping, text_of

ASKED = "query.json"
QUANTILES: Mapping[str, str] = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p999": "0.999"}
"""Name of a part → the quantile that its query asks for."""

_MS = {"s": 1e3, "ms": 1.0}


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Series of the application over the capture and what lies around it. A query that was refused is a warning."""
    asked = mapping(load(text_of(parts[ASKED]) or "")) if ASKED in parts else {}
    answers = {name: _answer(parts, name) for name in ("rate", "errors", *QUANTILES)}
    found: list[Series] = series("app.requests_per_s", answers["rate"], "rate.json")
    if answers["errors"].refusal is None:
        found += share_pct("app.errors_pct", answers["errors"], answers["rate"], "errors.json")
    factor = _MS.get(str(asked.get("latency_unit")), 1e3)
    for name in QUANTILES:
        found += series(f"app.{name}_ms", answers[name], f"{name}.json", factor)
    refusals = [one.refusal for one in answers.values() if one.refusal is not None]
    warnings: list[Sentence] = []
    for said in (*refusals, *(said for one in answers.values() for said in one.warnings)):
        if said not in warnings:
            warnings.append(said)
    if not found and not refusals:
        warnings.append(Sentence("reports.prometheus_empty"))
    return Parsed(series=tuple(found), warnings=tuple(warnings), readable=len(refusals) < len(answers))


def _answer(parts: Mapping[str, Part], name: str) -> Answer:
    part = parts.get(f"{name}.json")
    if part is None:
        return Answer(refusal=Sentence("reports.not_asked", {"name": name}))
    text = text_of(part)
    return prometheus_range.read(text) if text is not None else Answer(refusal=Sentence("reports.too_long"))
