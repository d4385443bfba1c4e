"""What a host did as often in its baseline is no harm: messages of logs, failed requests, and segments sent again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.view import CollectorOutcome, HostView
from culprit.tests.domain.rules.service_rows import make_view
from culprit.tests.domain.rules.test_engine import build_series

RATES = {
    "tcp.retrans_segs_per_s": "snmp", "tcp.out_segs_per_s": "snmp", "tcp.attempt_fails_per_s": "snmp",
    "tcp.active_opens_per_s": "snmp", "tcp.syn_retrans_per_s": "netstat_ext",
}  # fmt: skip


def build_log(messages: int, failed: int, kind: str = "names_fail", comm: str = "postfix") -> HostView:
    """A log with messages about one kind of limit, and with failed requests of 1,000, in eight seconds."""
    log = {"pid": 7, "comm": comm, "path": "/var/log/x", "rate": 90, "free": 1e12, "lines": 50, "seconds": 8}
    message = {"pid": 7, "comm": comm, "kind": kind, "count": messages}
    answers = {"pid": 7, "comm": comm, "path": "/var/log/x", "requests": 1000, "failed": failed, "worst": 503}
    view = make_view(growing_logs=[log], limit_messages=[message] if messages else [], answers=[answers])
    return replace(view, outcomes={"server_logs": CollectorOutcome("server_logs", "done")})


def build_network(**per_s: float) -> HostView:
    """A host with these rates in each of eight seconds; what is not named is 0."""
    series = [
        build_series(name, *[per_s.get(name.partition(".")[2], 0.0)] * 8, collector=source)
        for name, source in RATES.items()
    ]
    outcomes = {name: CollectorOutcome(name, "done") for name in RATES.values()}
    return HostView(outcomes, series)


def evaluate_rule(rule: str, now: HostView, before: HostView | None) -> Finding:
    """Return the first finding of a rule."""
    view = now if before is None else now.with_baseline(before)
    return evaluate_rules([RULES[rule]], view)[0]


@pytest.mark.parametrize(
    ("now", "before", "state"),
    [
        (9, None, "matched"),
        (9, 7, "inconclusive"),
        (9, 0, "matched"),
        (60, 7, "matched"),
        (2, 9, "inconclusive"),
    ],
)
def test_messages_as_frequent_as_before_show_no_harm(now: int, before: int | None, state: str) -> None:
    then = None if before is None else build_log(before, 0)
    finding = evaluate_rule("F-LOG-NAMES-FAIL", build_log(now, 0), then)
    assert (finding.state, finding.numbers[0].value) == (state, now)


def test_messages_of_another_program_in_the_baseline_hide_none() -> None:
    before = build_log(9, 0, comm="squid")
    assert evaluate_rule("F-LOG-NAMES-FAIL", build_log(9, 0), before).state == "matched"


@pytest.mark.parametrize(
    ("now", "before", "state"), [(200, 190, "inconclusive"), (200, 0, "matched"), (200, 40, "matched")]
)
def test_failures_as_frequent_as_before_show_no_harm(now: int, before: int, state: str) -> None:
    finding = evaluate_rule("F-LOG-REQUESTS-FAIL", build_log(0, now), build_log(0, before))
    assert (finding.state, finding.numbers[0].value) == (state, now / 10)


@pytest.mark.parametrize(("before", "state"), [(28.0, "matched"), (2.0, "not_matched")])
def test_loss_on_lines_of_guests_is_as_before(before: float, state: str) -> None:
    now, then = (build_network(out_segs_per_s=1000.0, retrans_segs_per_s=rate) for rate in (30.0, before))
    assert evaluate_rule("F-NET-LOSS-AS-BEFORE", now, then).state == state


@pytest.mark.parametrize(("before", "state"), [(None, "matched"), (5.0, "inconclusive"), (0.2, "matched")])
def test_health_checks_that_were_refused_before_show_no_fault(before: float | None, state: str) -> None:
    now = build_network(active_opens_per_s=50.0, attempt_fails_per_s=5.0)
    then = None if before is None else build_network(active_opens_per_s=50.0, attempt_fails_per_s=before)
    assert evaluate_rule("F-NET-CONNECTS-REFUSED", now, then).state == state
