"""Requests of a service, whoever measured them, and what their latency says of a CPU limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from culprit.core.rules.contract import Citation, Finding, Missing
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.measures import app_requests
from culprit.core.rules.read import take
from culprit.core.rules.registry import RULES
from culprit.core.rules.view import Lane, Outcome, View
from culprit.tests.core.rules import test_seeds as steps

S = 1_000_000_000
SPAN = (1000 * S, 1008 * S)
LIMIT = "F-CPU-THROTTLED-WAITING"
LISTENS = (
    "@ 0 1000000000000 namespace\ntarget\n@ 0 1000000000000 listeners\n"
    'LISTEN 0 200 0.0.0.0:80 0.0.0.0:* users:(("items",pid=22351,fd=3))\n'
    "@ 0 1000000000000 queues\nLISTEN 0 200 0.0.0.0:80 0.0.0.0:*\n"
)


def lane(source: str, *points: tuple[int, float], metric: str = "app.p99_ms", route: str = "/") -> Lane:
    t_ns = np.array([at for at, _ in points], np.int64) * S
    values = np.array([[value] for _, value in points])
    cite = Citation("r", source, "a", "p99.json")
    return Lane(metric, {"route": route}, None, (), t_ns, values, list(range(1, len(points) + 1)), cite)


def told(*lanes: Lane, sources: tuple[str, ...] = ("prom_import",)) -> View:
    return View({one: Outcome(one, "done") for one in sources}, lanes, span_ns=SPAN, seconds=8.0)


def p99(view: View) -> float | str:
    found = take(view, app_requests.P99)
    return found.reason.key if isinstance(found, Missing) else found[0].value


def test_what_was_fetched_from_before_the_capture_is_left_out() -> None:
    assert p99(told(lane("prom_import", (900, 5.0), (1001, 80.0), (1007, 120.0)))) == 100.0


def test_a_slow_scrape_stands_until_the_next() -> None:
    assert p99(told(lane("prom_import", (900, 5.0), (970, 40.0)))) == 40.0
    assert p99(told(lane("prom_import", (900, 5.0)))) == "missing.no_data"


def test_the_log_of_the_host_comes_before_what_was_scraped() -> None:
    lanes = (lane("prom_import", (1001, 80.0)), lane("app_metrics", (1001, 20.0)))
    assert p99(told(*lanes, sources=("prom_import", "app_metrics"))) == 20.0


def test_accepted_connections_have_no_latency() -> None:
    assert p99(told(sources=("accepts",))) == "missing.only_accepts"
    found = evaluate([RULES["F-APP-P99"], RULES["F-APP-ERR"]], told(sources=("accepts",)))
    assert {one.state for one in found} == {"not_evaluated"}


def test_requests_are_the_rate_times_the_capture_where_nobody_counted_them() -> None:
    (found,) = take(  # type: ignore[misc]
        told(lane("prom_import", (1001, 50.0), metric="app.requests_per_s")), app_requests.REQUESTS
    )
    assert found.value == 400.0


def throttled(*lanes: Lane, listener: str = "") -> Finding:
    """A handful of threads under a third of a CPU, beside what is known of the service, and who listens."""
    cases = yaml.safe_load((steps.HERE / "cases" / "cpu.yaml").read_text())
    step = next(one for one in cases if (one["rule"], one["state"]) == (LIMIT, "fired"))
    if listener:
        step = step | {"parts": step["parts"] | {"ss_listen": {"samples": listener}}}
    view = steps.view(step)
    known = {lane.cite.collector: Outcome(lane.cite.collector, "done") for lane in lanes}
    view = replace(view, outcomes={**view.outcomes, **known}, lanes=lanes, span_ns=SPAN)
    return evaluate([RULES[LIMIT]], view)[0]


@pytest.mark.parametrize("source", ["app_metrics", "prom_import"])
def test_a_limit_is_blamed_only_where_requests_are_slow(source: str) -> None:
    slow = throttled(lane(source, (1001, 140.0)))
    assert (slow.state, slow.numbers[-1].measure) == ("fired", app_requests.P99.id)
    assert slow.numbers[-1].citations[0].lines == (1,)
    quick = throttled(lane(source, (1001, 3.0)))
    assert (quick.state, quick.reason.key if quick.reason else "") == ("inconclusive", "guard.not_felt")


def test_a_log_whose_clock_starts_after_the_wait_clears_no_limit() -> None:
    quick = lane("app_metrics", (1001, 3.0))
    served = throttled(quick, listener=LISTENS)
    assert (served.state, served.numbers[-1].measure) == ("fired", "sched.serving_delay_ms_per_turn")
    assert throttled(quick, listener=LISTENS.replace("pid=22351", "pid=4")).state == "inconclusive"


def test_a_limit_is_blamed_where_nobody_knows_of_requests() -> None:
    assert throttled().state == "fired"


def test_the_slowest_route_counts() -> None:
    lanes = (lane("prom_import", (1001, 3.0)), lane("prom_import", (1001, 300.0), route="/report"))
    assert throttled(*lanes).state == "fired"
