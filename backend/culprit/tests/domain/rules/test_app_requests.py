"""Requests of a service from any source, and how their latency relates to a CPU limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation, Finding, MissingData
from culprit.domain.rules.measures.application import requests as app_requests
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import CollectorOutcome, HostView, ViewSeries
from culprit.tests.domain.rules import test_seeds as steps

S = 1_000_000_000
SPAN = (1000 * S, 1008 * S)
LIMIT = "F-CPU-THROTTLED-WAITING"
LISTENS = (
    "@ 0 1000000000000 namespace\ntarget\n@ 0 1000000000000 listeners\n"
    'LISTEN 0 200 0.0.0.0:80 0.0.0.0:* users:(("items",pid=22351,fd=3))\n'
    "@ 0 1000000000000 queues\nLISTEN 0 200 0.0.0.0:80 0.0.0.0:*\n"
)


def build_series(
    source: str, *points: tuple[int, float], metric: str = "app.p99_ms", route: str = "/"
) -> ViewSeries:
    t_ns = np.array([at for at, _ in points], np.int64) * S
    values = np.array([[value] for _, value in points])
    citation = Citation("r", source, "a", "p99.json")
    return ViewSeries(
        metric, {"route": route}, None, (), t_ns, values, list(range(1, len(points) + 1)), citation
    )


def service_view(*series_list: ViewSeries, sources: tuple[str, ...] = ("prom_service",)) -> HostView:
    return HostView(
        {source: CollectorOutcome(source, "done") for source in sources},
        series_list,
        span_ns=SPAN,
        seconds=8.0,
    )


def p99(view: HostView) -> float | str:
    reading = take_reading(view, app_requests.P99)
    return reading.reason.key if isinstance(reading, MissingData) else reading[0].value


def test_what_was_fetched_from_before_the_capture_is_left_out() -> None:
    assert p99(service_view(build_series("prom_service", (900, 5.0), (1001, 80.0), (1007, 120.0)))) == 100.0


def test_p99_uses_slow_scrape_until_next_scrape() -> None:
    assert p99(service_view(build_series("prom_service", (900, 5.0), (970, 40.0)))) == 40.0
    assert p99(service_view(build_series("prom_service", (900, 5.0)))) == "missing.no_data"


def test_the_log_of_the_host_comes_before_what_was_scraped() -> None:
    series_list = (build_series("prom_service", (1001, 80.0)), build_series("app_metrics", (1001, 20.0)))
    assert p99(service_view(*series_list, sources=("prom_service", "app_metrics"))) == 20.0


def test_accepted_connections_have_no_latency() -> None:
    assert p99(service_view(sources=("accepts",))) == "missing.only_accepts"
    rules = evaluate_rules([RULES["F-APP-P99"], RULES["F-APP-ERR"]], service_view(sources=("accepts",)))
    assert {rule.state for rule in rules} == {"not_evaluated"}


def test_requests_without_counter_are_rate_times_duration() -> None:
    (result,) = take_reading(  # type: ignore[misc]
        service_view(build_series("prom_service", (1001, 50.0), metric="app.requests_per_s")),
        app_requests.REQUESTS,
    )
    assert result.value == 400.0


def throttled(*series_list: ViewSeries, listener: str = "") -> Finding:
    """Evaluate threads with a third of a CPU, together with the service's series and its listener."""
    cases = yaml.safe_load((steps.HERE / "cases" / "cpu.yaml").read_text())
    step = next(case for case in cases if (case["rule"], case["state"]) == (LIMIT, "matched"))
    if listener:
        step = step | {"parts": step["parts"] | {"ss_listen": {"samples": listener}}}
    view = steps.view(step)
    known = {
        series.citation.collector: CollectorOutcome(series.citation.collector, "done")
        for series in series_list
    }
    view = replace(view, outcomes={**view.outcomes, **known}, series=series_list, span_ns=SPAN)
    return evaluate_rules([RULES[LIMIT]], view)[0]


@pytest.mark.parametrize("source", ["app_metrics", "prom_service"])
def test_a_limit_is_blamed_only_where_requests_are_slow(source: str) -> None:
    slow = throttled(build_series(source, (1001, 140.0)))
    assert (slow.state, slow.numbers[-1].measure) == ("matched", app_requests.P99.id)
    assert slow.numbers[-1].citations[0].lines == (1,)
    quick = throttled(build_series(source, (1001, 3.0)))
    assert (quick.state, quick.reason.key if quick.reason else "") == ("inconclusive", "guard.not_felt")


def test_a_log_whose_clock_starts_after_the_wait_clears_no_limit() -> None:
    quick = build_series("app_metrics", (1001, 3.0))
    served = throttled(quick, listener=LISTENS)
    assert (served.state, served.numbers[-1].measure) == ("matched", "sched.serving_lost_pct")
    assert throttled(quick, listener=LISTENS.replace("pid=22351", "pid=4")).state == "inconclusive"


def test_cpu_limit_matches_without_request_data() -> None:
    assert throttled().state == "matched"


def test_the_slowest_route_counts() -> None:
    series_list = (
        build_series("prom_service", (1001, 3.0)),
        build_series("prom_service", (1001, 300.0), route="/report"),
    )
    assert throttled(*series_list).state == "matched"


@pytest.mark.parametrize(
    ("case", "expected"),
    [("debian-12-expired", [("certificate-expired", "likely")]), ("debian-12-own-issuer", [])],
)
def test_expired_certificate_is_likely_unless_it_is_self_signed(
    case: str, expected: list[tuple[str, str]]
) -> None:
    findings = evaluate_rules(RULES.values(), steps.view({"fixture": {"certificates": case}}))
    ranking = rank_causes(findings, RULES, CAUSES)
    assert [(item.cause, item.confidence) for item in ranking.causes] == expected
