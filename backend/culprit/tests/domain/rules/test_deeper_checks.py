"""What a diagnosis checks next while harm or an atypical state is unexplained."""

from __future__ import annotations

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.deeper_checks import list_requested_checks
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.ranking.stages import MAX_EXCLUSIVE_S, DiagnosisStage, plan_next_stage
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_rank import make_finding

from collectors.contract import Tier
from collectors.registry import COLLECTORS


def plan(
    view: HostView, *, tried: tuple[str, ...] = (), is_named: bool = False, most: Tier = Tier.DEEP
) -> DiagnosisStage | None:
    findings = evaluate_rules(RULES.values(), view)
    ranking = rank_causes(findings, RULES, CAUSES, read_service_times(view))
    tiers = list(Tier)
    return plan_next_stage(
        ranking, findings, RULES, CAUSES, tried=tried, is_named=is_named,
        may_run=lambda tier: tier is not Tier.PTRACE and tiers.index(tier) <= tiers.index(most),
    )  # fmt: skip


def slow(name: str, *times: dict, threads: float = 1, requests: float = 1, **more: float) -> HostView:
    return make_view(
        process_time=[make_process(7, name, threads=threads, **more)],
        thread_time=[item | {"pid": 7} for item in times],
        tcp_waits=[make_wait(7, name, "in", "80", requests)],
    )


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (slow("web", run=1.0), {"perf_record"}),
        (slow("web", run=0.1, wait=0.9), {"perf_sched"}),
        (slow("web", make_time(7, "events", 1.0)), {"offcpu"}),
        (slow("web", make_time(7, "filesystem", 1.0, "/mnt")), {"offcpu"}),
        (slow("web", make_time(7, "disk", 1.0, "sda")), {"perf_trace", "offcpu"}),
        (slow("postgres", make_time(7, "events", 1.0)), {"db_sessions", "offcpu"}),
        (slow("redis-server", run=1.0), {"redis_info", "perf_record"}),
    ],
)
def test_activity_selects_the_look(view: HostView, expected: set[str]) -> None:
    stage = plan(view)
    assert stage is not None
    assert expected <= stage.collectors.keys()
    assert stage.about == (("pid", "7"),)
    seconds = [spent for name, spent in stage.collectors.items() if COLLECTORS[name].exclusive]
    assert sum(seconds) <= MAX_EXCLUSIVE_S


def test_explained_time_needs_no_look() -> None:
    view = slow("web", make_time(7, "lock", 3.0, "0x7f"), threads=3, requests=3)
    findings = evaluate_rules(RULES.values(), view)
    ranking = rank_causes(findings, RULES, CAUSES, read_service_times(view))
    assert [item.cause for item in ranking.causes] == ["lock-contention"]
    assert list_requested_checks(ranking, findings) == []


def test_the_end_of_the_chain_is_checked() -> None:
    view = make_view(
        process_time=[make_process(7, "web"), make_process(8, "mariadbd", threads=4)],
        thread_time=[make_time(7, "peer", 1.0, "127.0.0.1:3306"), make_time(8, "client", 4.0, "3306")],
        tcp_waits=[make_wait(7, "web", "in", "80", 1.0)],
    )
    stage = plan(view)
    assert stage is not None
    assert {"db_sessions", "mariadb_stats"} <= stage.collectors.keys()
    assert stage.about == (("pid", "8"),)


def test_named_process_gets_a_profile() -> None:
    stage = plan(make_view(), is_named=True)
    assert stage is not None
    assert set(stage.collectors) == {"server_logs", "perf_record", "certificates"}
    assert plan(make_view(), is_named=True, tried=tuple(stage.collectors)) is None


def test_logs_and_certificates_are_read_where_nothing_is_explained() -> None:
    stage = plan(make_view())
    assert stage is not None
    assert set(stage.collectors) == {"server_logs", "certificates"}
    assert plan(make_view(), tried=tuple(stage.collectors)) is None


def test_deeper_checks_stay_within_the_tier() -> None:
    stage = plan(slow("postgres", make_time(7, "events", 1.0)), most=Tier.LIGHT)
    assert stage is not None
    assert "db_sessions" in stage.collectors
    assert all(COLLECTORS[name].tier is Tier.LIGHT for name in stage.collectors)
    assert "offcpu" in stage.refused
    stage = plan(slow("web", run=1.0), most=Tier.LIGHT)
    assert stage is None or "perf_record" in stage.refused


@pytest.mark.parametrize(
    ("rule", "collector"),
    [("F-THREAD-HOT", "perf_record"), ("F-SCHED-RUNQ", "perf_sched"), ("F-PROC-BLOCKED", "offcpu")],
)
def test_atypical_state_without_account_selects_a_look(rule: str, collector: str) -> None:
    findings = [make_finding(RULES[rule], pid="42")]
    ranking = rank_causes(findings, RULES, CAUSES)
    stage = plan_next_stage(ranking, findings, RULES, CAUSES, tried=(), may_run=lambda _: True)
    assert stage is not None
    assert collector in stage.collectors
    assert stage.about == (("pid", "42"),)


def test_no_look_stops_a_process_at_its_calls() -> None:
    for view in (slow("web", make_time(7, "events", 1.0)), slow("java", make_time(7, "park", 1.0))):
        stage = plan(view)
        assert stage is not None
        assert all(COLLECTORS[name].tier is not Tier.PTRACE for name in stage.collectors)
