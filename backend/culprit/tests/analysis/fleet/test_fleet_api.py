"""The fleet over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from culprit.core.rules.read import unit_of
from culprit.core.rules.registry import RULES
from culprit.fleet.peers import LEAST
from culprit.fleet.queries import MOST_HOSTS
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Evaluation, Host, Run
from culprit.tests.support.fleet import add_hosts, add_look, add_looks, crowd
from fastapi.testclient import TestClient
from sqlalchemy import event, update
from sqlalchemy.engine import Engine

pytestmark = pytest.mark.long(20)

API = "/api/v1/fleet"
RUNQ, STEAL, UTIL, OOM = "F-SCHED-RUNQ", "F-CPU-STEAL", "F-DISK-UTIL", "F-MEM-OOM-HOST"
As = Callable[[str], TestClient]


def rows(told: dict) -> dict[str, dict]:
    return {one["name"]: one for one in told["hosts"]}


def test_a_cell_holds_the_worst_with_its_number_and_its_age(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [sick, blind] = add_hosts(session, ["sick", "blind"], [{}, {}])
        run = add_look(session, sick, fired={STEAL: 23.0}, quiet={UTIL: 40.0, OOM: None}, minutes_ago=9)
    told = as_("viewer").get(f"{API}/use").json()
    row = rows(told)["sick"]
    cell = row["cells"]["cpu.saturation"]
    assert (cell["state"], cell["rule"], cell["value"], cell["fired"]) == ("fired", STEAL, 23.0, 1)
    assert row["looks"][cell["look"]]["run_id"] == str(run)
    assert told["rules"][STEAL]["unit"] == "pct"
    assert (row["cells"]["disk.utilisation"]["state"], row["cells"]["memory.errors"]["value"]) == (
        "quiet",
        None,
    )
    assert "network.errors" not in row["cells"], "nobody looked there"
    asks = [
        rule for rule in told["rules"].values() if (rule["resource"], rule["letter"]) == ("cpu", "saturation")
    ]
    assert len(asks) > cell["said"]
    assert (rows(told)["blind"]["looks"], rows(told)["blind"]["cells"]) == ([], {})


def test_what_was_found_stays_until_the_same_rule_speaks_again(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [host] = add_hosts(session, ["h"], [{}])
        add_look(session, host, fired={STEAL: 23.0, RUNQ: 9.0}, minutes_ago=60)
        add_look(session, host, quiet={RUNQ: 0.1}, minutes_ago=1)
    row = rows(as_("viewer").get(f"{API}/use").json())["h"]
    cell = row["cells"]["cpu.saturation"]
    assert (cell["rule"], cell["look"], cell["said"], cell["fired"]) == (STEAL, 1, 2, 1)


def test_hosts_out_of_scope_retired_or_without_the_label_are_not_there(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        labels = [{"role": "feed", "dc": "a"}, {"role": "feed", "dc": "b"}, {"role": "ads", "dc": "a"}]
        add_hosts(session, ["feed-a", "feed-b", "ads-a"], labels)
    for view in ("use", "findings"):
        assert set(rows(as_("scoped").get(f"{API}/{view}").json())) == {"feed-a", "feed-b"}
        assert set(rows(as_("viewer").get(f"{API}/{view}?has=dc:a").json())) == {"feed-a", "ads-a"}
    groups = as_("scoped").get(f"{API}/peers?label=role").json()["groups"]
    assert [(one["value"], len(one["hosts"])) for one in groups] == [("feed", 2)]
    assert as_("viewer").get(f"{API}/use?has=role").json()["key"] == "host.label_filter"


def test_the_matrix_tells_what_fired_where_and_where_it_was_asked(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [sick, well, unsure, blind] = add_hosts(session, ["sick", "well", "unsure", "blind"], [{}] * 4)
        add_look(session, sick, fired={STEAL: 23.0}, quiet={UTIL: 1.0})
        add_look(session, well, quiet={STEAL: 0.0, UTIL: 1.0})
        add_look(session, unsure, inconclusive={STEAL: 23.0})
        add_look(session, blind, quiet={UTIL: 1.0})
    told = as_("viewer").get(f"{API}/findings").json()
    found = rows(told)
    assert set(told["rules"]) == {STEAL}
    assert [one["rule"] for one in found["sick"]["fired"]] == [STEAL]
    assert (found["well"]["quiet"], found["unsure"]["inconclusive"]) == ([STEAL], [STEAL])
    assert all(found["blind"][name] == [] for name in ("fired", "quiet", "inconclusive"))


def alike(session, minutes_ago: list[float], values: list[float]) -> None:
    names = [f"feed-{at}" for at in range(len(values))]
    hosts = add_hosts(session, names, [{"role": "feed"}] * len(values))
    for host, value, ago in zip(hosts, values, minutes_ago, strict=True):
        add_look(session, host, quiet={UTIL: value, STEAL: 0.0}, minutes_ago=ago)


def test_the_host_that_is_unlike_its_peers_is_named_first(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        alike(session, [1.0] * 6, [10.0, 11.0, 10.5, 9.5, 10.2, 93.0])
    told = as_("viewer").get(f"{API}/peers").json()
    assert (told["label"], told["without"]) == ("role", 0)
    [group] = told["groups"]
    [measure] = group["measures"]
    names = {one["id"]: one["name"] for one in group["hosts"]}
    first = measure["standings"][0]
    assert (names[first["host_id"]], first["value"], first["unlike"]) == ("feed-5", 93.0, True)
    assert (measure["rule"], measure["n"], group["agree"]) == (UTIL, 6, 1)
    steal = RULES[STEAL].measure.id
    [asked] = as_("viewer").get(f"{API}/peers", params={"measure": steal}).json()["groups"][0]["measures"]
    assert (asked["measure"], len(asked["standings"])) == (steal, 6)


def test_looks_that_are_too_old_are_no_peers(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        alike(session, [1.0, 1.0, 1.0, 1.0, 90.0], [10.0, 11.0, 10.5, 9.5, 93.0])
    [group] = as_("viewer").get(f"{API}/peers?within_s=3600").json()["groups"]
    assert (group["stale"], group["measures"], group["agree"]) == (1, [], 0)
    [group] = as_("viewer").get(f"{API}/peers?within_s=7200").json()["groups"]
    assert (group["stale"], len(group["measures"])) == (0, 1)


def test_groups_are_made_by_the_label_that_makes_one_that_is_big_enough(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        labels = [{"service": f"s{at}", "dc": "a"} for at in range(5)]
        add_hosts(session, [f"h{at}" for at in range(5)], labels)
        add_hosts(session, ["bare"], [{}])
    told = as_("viewer").get(f"{API}/peers").json()
    assert (told["label"], told["without"]) == ("dc", 1)
    assert {one["name"]: one["values"] for one in told["labels"]} == {"dc": 1, "service": 5}


def test_an_empty_fleet_is_an_answer(as_: As) -> None:
    viewer = as_("viewer")
    assert [viewer.get(f"{API}/{view}").json()["hosts"] for view in ("use", "findings")] == [[], []]
    assert viewer.get(f"{API}/peers").json()["groups"] == []


@contextmanager
def counted() -> Iterator[list[str]]:
    asked: list[str] = []

    def count(_connection, _cursor, statement, *_rest) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield asked
    finally:
        event.remove(Engine, "before_cursor_execute", count)


def test_five_hundred_hosts_take_as_many_queries_as_five(db: Database, as_: As) -> None:
    counts: dict[int, dict[str, int]] = {}
    names = [f"h{at:03}" for at in range(MOST_HOSTS + 1)]
    added = 0
    for size in (5, MOST_HOSTS + 1):
        with unit_of_work(db.sessions) as session:
            new = names[added:size]
            labels = [{"role": f"r{at % 5}"} for at in range(added, size)]
            for batch in crowd(add_hosts(session, new, labels), 2):
                add_looks(session, batch)
        added = size
        counts[size] = {}
        for view in ("use", "peers", "findings"):
            as_("viewer").get(f"{API}/{view}")
            with counted() as asked:
                told = as_("viewer").get(f"{API}/{view}")
            assert told.status_code == 200
            counts[size][view] = len(asked)
    assert counts[5] == counts[MOST_HOSTS + 1]
    told = as_("viewer").get(f"{API}/use").json()
    assert (len(told["hosts"]), told["left_out"]) == (MOST_HOSTS, 1)


@pytest.mark.parametrize("unit", sorted({unit_of(rule.measure) for rule in RULES.values()}))
def test_every_unit_has_a_smallest_difference_that_means_anything(unit: str) -> None:
    assert LEAST[unit] > 0


VIEWS = ("use", "findings", "peers?label=role")


def again(client: TestClient, view: str, tag: str) -> int:
    answer = client.get(f"{API}/{view}", headers={"If-None-Match": tag})
    assert answer.headers["etag"] == tag or answer.status_code == 200
    return answer.status_code


def test_an_unchanged_fleet_is_not_sent_again(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        [host, _] = add_hosts(session, ["a", "b"], [{"role": "feed"}] * 2)
        add_look(session, host, fired={STEAL: 23.0})
    viewer = as_("viewer")
    tags = {view: viewer.get(f"{API}/{view}").headers["etag"] for view in VIEWS}
    assert len(set(tags.values())) == len(VIEWS)
    for view, tag in tags.items():
        with counted() as asked:
            answer = viewer.get(f"{API}/{view}", headers={"If-None-Match": f'"other", {tag}'})
        assert (answer.status_code, answer.content) == (304, b"")
        assert not [one for one in asked if "jsonb_array_elements" in one or "finding.rule" in one]
        assert again(viewer, view, 'W/"older"') == 200


@pytest.mark.parametrize("change", ["look", "spoken again", "host", "label", "retired"])
def test_whatever_changes_it_is_sent(db: Database, as_: As, change: str) -> None:
    with unit_of_work(db.sessions) as session:
        [host, other] = add_hosts(session, ["a", "b"], [{"role": "feed"}] * 2)
        run = add_look(session, host, fired={STEAL: 23.0}, minutes_ago=9)
    viewer = as_("viewer")
    tags = {view: viewer.get(f"{API}/{view}").headers["etag"] for view in VIEWS}
    with unit_of_work(db.sessions) as session:
        match change:
            case "look":
                add_look(session, other, quiet={STEAL: 0.0})
            case "spoken again":
                session.get_one(Evaluation, run).at = now()
            case "host":
                add_hosts(session, ["c"], [{"role": "feed"}])
            case "label":
                session.get_one(Host, host).labels = {"role": "ads"}
            case "retired":
                session.get_one(Host, other).state = "retired"
    assert [again(viewer, view, tag) for view, tag in tags.items()] == [200] * len(VIEWS)


def test_a_tag_says_nothing_to_who_may_see_other_hosts(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        add_hosts(session, ["feed", "ads"], [{"role": "feed"}, {"role": "ads"}])
    tag = as_("viewer").get(f"{API}/use").headers["etag"]
    assert again(as_("scoped"), "use", tag) == 200


def test_peers_are_compared_anew_once_a_look_is_too_old(db: Database, as_: As) -> None:
    with unit_of_work(db.sessions) as session:
        alike(session, [1.0] * 6, [10.0, 11.0, 10.5, 9.5, 10.2, 93.0])
    viewer = as_("viewer")
    tag = viewer.get(f"{API}/peers?within_s=3600").headers["etag"]
    assert again(viewer, "peers?within_s=3600", tag) == 304
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).values(t1_ns=Run.t1_ns - 7200 * 10**9))
    assert again(viewer, "peers?within_s=3600", tag) == 200
