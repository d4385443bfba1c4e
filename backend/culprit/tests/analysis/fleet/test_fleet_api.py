"""The fleet over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from culprit.accounts import dependencies
from culprit.analysis.fleet import queries
from culprit.analysis.fleet.peers import MIN_STEP_BY_UNIT
from culprit.domain.rules.readings import get_unit
from culprit.domain.rules.registry import RULES
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.tests.support.fleet import add_evaluated_run, add_evaluated_runs, add_hosts, generate_runs
from fastapi.testclient import TestClient
from sqlalchemy import event, update
from sqlalchemy.engine import Engine

pytestmark = pytest.mark.long(20)

API = "/api/v1/fleet"
RUNQ, STEAL, UTIL, OOM = "F-SCHED-RUNQ", "F-CPU-STEAL", "F-DISK-UTIL", "F-MEM-OOM-HOST"
As = Callable[[str], TestClient]


def rows(reported: dict) -> dict[str, dict]:
    return {host["name"]: host for host in reported["hosts"]}


def test_use_cell_holds_the_worst_finding_with_its_run(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [unhealthy, unmeasured] = add_hosts(session, ["unhealthy", "unmeasured"], [{}, {}])
        run = add_evaluated_run(
            session, unhealthy, matched={STEAL: 23.0}, not_matched={UTIL: 40.0, OOM: None}, minutes_ago=9
        )
    reported = as_("viewer").get(f"{API}/use").json()
    row = rows(reported)["unhealthy"]
    cell = row["cells"]["cpu.saturation"]
    assert (cell["state"], cell["rule"], cell["value"], cell["matched"]) == ("matched", STEAL, 23.0, 1)
    assert row["runs"][cell["run_index"]]["run_id"] == str(run)
    assert reported["rules"][STEAL]["unit"] == "pct"
    assert (row["cells"]["disk.utilization"]["state"], row["cells"]["memory.errors"]["value"]) == (
        "not_matched",
        None,
    )
    assert "network.errors" not in row["cells"], "no rule of this cell was evaluated"
    rules = [
        rule
        for rule in reported["rules"].values()
        if (rule["resource"], rule["use_category"]) == ("cpu", "saturation")
    ]
    assert len(rules) > cell["evaluated"]
    assert (rows(reported)["unmeasured"]["runs"], rows(reported)["unmeasured"]["cells"]) == ([], {})


def test_use_keeps_a_match_until_the_rule_is_evaluated_again(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [host] = add_hosts(session, ["h"], [{}])
        add_evaluated_run(session, host, matched={STEAL: 23.0, RUNQ: 9.0}, minutes_ago=60)
        add_evaluated_run(session, host, not_matched={RUNQ: 0.1}, minutes_ago=1)
    row = rows(as_("viewer").get(f"{API}/use").json())["h"]
    cell = row["cells"]["cpu.saturation"]
    assert (cell["rule"], cell["run_index"], cell["evaluated"], cell["matched"]) == (STEAL, 1, 2, 1)


def test_fleet_lists_only_visible_hosts_with_the_label(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        labels = [{"role": "feed", "dc": "a"}, {"role": "feed", "dc": "b"}, {"role": "ads", "dc": "a"}]
        add_hosts(session, ["feed-a", "feed-b", "ads-a"], labels)
    for view in ("use", "findings"):
        assert set(rows(as_("scoped").get(f"{API}/{view}").json())) == {"feed-a", "feed-b"}
        assert set(rows(as_("viewer").get(f"{API}/{view}?has=dc:a").json())) == {"feed-a", "ads-a"}
    groups = as_("scoped").get(f"{API}/peers?label=role").json()["groups"]
    assert [(group["value"], len(group["hosts"])) for group in groups] == [("feed", 2)]
    assert as_("viewer").get(f"{API}/use?has=role").json()["key"] == "host.label_filter"


def test_findings_lists_matches_and_evaluated_rules_of_each_host(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [unhealthy, well, unsure, unmeasured] = add_hosts(
            session, ["unhealthy", "well", "unsure", "unmeasured"], [{}] * 4
        )
        add_evaluated_run(session, unhealthy, matched={STEAL: 23.0}, not_matched={UTIL: 1.0})
        add_evaluated_run(session, well, not_matched={STEAL: 0.0, UTIL: 1.0})
        add_evaluated_run(session, unsure, inconclusive={STEAL: 23.0})
        add_evaluated_run(session, unmeasured, not_matched={UTIL: 1.0})
    reported = as_("viewer").get(f"{API}/findings").json()
    result = rows(reported)
    assert set(reported["rules"]) == {STEAL}
    assert [item["rule"] for item in result["unhealthy"]["matched"]] == [STEAL]
    assert (result["well"]["not_matched"], result["unsure"]["inconclusive"]) == ([STEAL], [STEAL])
    assert all(result["unmeasured"][name] == [] for name in ("matched", "not_matched", "inconclusive"))


def add_peers(session, minutes_ago: list[float], values: list[float]) -> None:
    names = [f"feed-{at}" for at in range(len(values))]
    hosts = add_hosts(session, names, [{"role": "feed"}] * len(values))
    for host, value, ago in zip(hosts, values, minutes_ago, strict=True):
        add_evaluated_run(session, host, not_matched={UTIL: value, STEAL: 0.0}, minutes_ago=ago)


def test_peers_lists_the_outlier_first(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        add_peers(session, [1.0] * 6, [10.0, 11.0, 10.5, 9.5, 10.2, 93.0])
    reported = as_("viewer").get(f"{API}/peers").json()
    assert (reported["label"], reported["unlabeled_hosts"]) == ("role", 0)
    [group] = reported["groups"]
    [measure] = group["measures"]
    names = {host["id"]: host["name"] for host in group["hosts"]}
    first = measure["hosts"][0]
    assert (names[first["host_id"]], first["value"], first["is_outlier"]) == ("feed-5", 93.0, True)
    assert (measure["rule"], measure["host_count"], group["agreeing_measures"]) == (UTIL, 6, 1)
    steal = RULES[STEAL].measure.id
    [requested] = as_("viewer").get(f"{API}/peers", params={"measure": steal}).json()["groups"][0]["measures"]
    assert (requested["measure"], len(requested["hosts"])) == (steal, 6)


def test_peers_ignores_runs_that_are_too_old(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        add_peers(session, [1.0, 1.0, 1.0, 1.0, 90.0], [10.0, 11.0, 10.5, 9.5, 93.0])
    [group] = as_("viewer").get(f"{API}/peers?within_s=3600").json()["groups"]
    assert (group["stale_hosts"], group["measures"], group["agreeing_measures"]) == (1, [], 0)
    [group] = as_("viewer").get(f"{API}/peers?within_s=7200").json()["groups"]
    assert (group["stale_hosts"], len(group["measures"])) == (0, 1)


def test_peers_groups_by_the_label_with_a_large_enough_group(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        labels = [{"service": f"s{at}", "dc": "a"} for at in range(5)]
        add_hosts(session, [f"h{at}" for at in range(5)], labels)
        add_hosts(session, ["bare"], [{}])
    reported = as_("viewer").get(f"{API}/peers").json()
    assert (reported["label"], reported["unlabeled_hosts"]) == ("dc", 1)
    assert {label["name"]: label["value_count"] for label in reported["labels"]} == {"dc": 1, "service": 5}


def test_fleet_without_hosts_returns_empty_lists(as_: As) -> None:
    viewer = as_("viewer")
    assert [viewer.get(f"{API}/{view}").json()["hosts"] for view in ("use", "findings")] == [[], []]
    assert viewer.get(f"{API}/peers").json()["groups"] == []


@contextmanager
def count_statements() -> Iterator[list[str]]:
    requested: list[str] = []

    def count(_connection, _cursor, statement, *_rest) -> None:
        requested.append(statement)

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield requested
    finally:
        event.remove(Engine, "before_cursor_execute", count)


def test_fleet_query_count_does_not_depend_on_hosts(
    db: Database, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The time of the last use of the token is stored once per interval, which a slow test could cross.
    monkeypatch.setattr(dependencies, "LAST_SEEN_INTERVAL", timedelta(days=1))
    most_hosts = 60
    monkeypatch.setattr(queries, "MAX_HOSTS", most_hosts)
    counts: dict[int, dict[str, int]] = {}
    names = [f"h{at:03}" for at in range(most_hosts + 1)]
    added = 0
    for size in (5, most_hosts + 1):
        with unit_of_work(db.sessions) as session:
            new = names[added:size]
            labels = [{"role": f"r{at % 5}"} for at in range(added, size)]
            for batch in generate_runs(add_hosts(session, new, labels), 2):
                add_evaluated_runs(session, batch)
        added = size
        counts[size] = {}
        for view in ("use", "peers", "findings"):
            as_("viewer").get(f"{API}/{view}")
            with count_statements() as requested:
                reported = as_("viewer").get(f"{API}/{view}")
            assert reported.status_code == 200
            counts[size][view] = len(requested)
    assert counts[5] == counts[most_hosts + 1]
    reported = as_("viewer").get(f"{API}/use").json()
    assert (len(reported["hosts"]), reported["left_out"]) == (most_hosts, 1)


@pytest.mark.parametrize("unit", sorted({get_unit(rule.measure) for rule in RULES.values()}))
def test_least_has_a_positive_difference_for_each_unit(unit: str) -> None:
    assert MIN_STEP_BY_UNIT[unit] > 0


VIEWS = ("use", "findings", "peers?label=role")


def request_again(client: TestClient, view: str, tag: str) -> int:
    answer = client.get(f"{API}/{view}", headers={"If-None-Match": tag})
    assert answer.headers["etag"] == tag or answer.status_code == 200
    return answer.status_code


def test_fleet_returns_304_when_nothing_changed(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [host, _] = add_hosts(session, ["a", "b"], [{"role": "feed"}] * 2)
        add_evaluated_run(session, host, matched={STEAL: 23.0})
    viewer = as_("viewer")
    tags = {view: viewer.get(f"{API}/{view}").headers["etag"] for view in VIEWS}
    assert len(set(tags.values())) == len(VIEWS)
    for view, tag in tags.items():
        with count_statements() as requested:
            answer = viewer.get(f"{API}/{view}", headers={"If-None-Match": f'"other", {tag}'})
        assert (answer.status_code, answer.content) == (304, b"")
        assert not [item for item in requested if "jsonb_array_elements" in item or "finding.rule" in item]
        assert request_again(viewer, view, 'W/"older"') == 200


@pytest.mark.parametrize("change", ["run", "evaluation", "host", "label", "retired"])
def test_fleet_returns_200_after_a_change(db: Database, as_: As, change: str) -> None:
    with unit_of_work(db.sessions) as session:
        [host, other] = add_hosts(session, ["a", "b"], [{"role": "feed"}] * 2)
        run = add_evaluated_run(session, host, matched={STEAL: 23.0}, minutes_ago=9)
    viewer = as_("viewer")
    tags = {view: viewer.get(f"{API}/{view}").headers["etag"] for view in VIEWS}
    with unit_of_work(db.sessions) as session:
        match change:
            case "run":
                add_evaluated_run(session, other, not_matched={STEAL: 0.0})
            case "evaluation":
                session.get_one(Evaluation, run).at = utc_now()
            case "host":
                add_hosts(session, ["c"], [{"role": "feed"}])
            case "label":
                session.get_one(Host, host).labels = {"role": "ads"}
            case "retired":
                session.get_one(Host, other).state = "retired"
    assert [request_again(viewer, view, tag) for view, tag in tags.items()] == [200] * len(VIEWS)


def test_fleet_etag_depends_on_visible_hosts(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        add_hosts(session, ["feed", "ads"], [{"role": "feed"}, {"role": "ads"}])
    tag = as_("viewer").get(f"{API}/use").headers["etag"]
    assert request_again(as_("scoped"), "use", tag) == 200


def test_peers_returns_200_when_a_run_became_too_old(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        add_peers(session, [1.0] * 6, [10.0, 11.0, 10.5, 9.5, 10.2, 93.0])
    viewer = as_("viewer")
    tag = viewer.get(f"{API}/peers?within_s=3600").headers["etag"]
    assert request_again(viewer, "peers?within_s=3600", tag) == 304
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).values(t1_ns=Run.t1_ns - 7200 * 10**9))
    assert request_again(viewer, "peers?within_s=3600", tag) == 200
