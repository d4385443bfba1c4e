"""An idle transaction is named before the waits for locks that it explains, from real sessions of both databases."""

from __future__ import annotations

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.ranking.stages import plan_next_stage
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.tests.domain.rules.test_seeds import view


@pytest.mark.parametrize(
    ("collector", "case"),
    [("db_sessions", "debian-12-idle-in-transaction"), ("mariadb_stats", "debian-12-row-lock")],
)
def test_idle_transaction_is_named_before_the_waits(collector: str, case: str) -> None:
    findings = evaluate_rules(RULES.values(), view({"fixture": {collector: case}}))
    result = rank_causes(findings, RULES, CAUSES)
    assert result.causes[0].cause == "idle-in-transaction"
    assert "database-lock-wait" in result.causes[0].explains
    assert all(item.cause != "database-lock-wait" for item in result.causes)


def test_table_change_that_waits_is_a_lock_wait_of_an_unknown_holder() -> None:
    findings = evaluate_rules(RULES.values(), view({"fixture": {"mariadb_stats": "debian-12-metadata-lock"}}))
    assert [item.cause for item in rank_causes(findings, RULES, CAUSES).causes] == ["database-lock-wait"]


def test_servers_on_the_host_are_queried_in_the_next_stage() -> None:
    text = "looks\tlooks=10\n" + "".join(
        f"wait\tpid={pid}\tuid=5\tcomm={comm}\tdirection=in\tpeer={pid}\tlooks=10\tconnections=4\twaiting=0"
        "\twaiting_looks=0\toldest=3\tunread=0\tunsent=0\tretransmitting=0\n"
        for pid, comm in ((7, "postgres"), (8, "mariadbd"), (9, "redis-server"), (10, "java"))
    )
    findings = evaluate_rules(RULES.values(), view({"parts": {"tcp_waits": {"stdout": text}}}))
    ranking = rank_causes(findings, RULES, CAUSES)
    stage = plan_next_stage(ranking, findings, RULES, CAUSES, tried=("tcp_waits",), may_run=lambda tier: True)
    assert stage is not None
    assert {
        "db_sessions",
        "postgres_stats",
        "mariadb_stats",
        "redis_info",
        "jvm_gc",
    } <= stage.collectors.keys()
