"""Annotations in Grafana: one for each thing, as it stands now, whatever gets lost on the way. Against a strict imitation
of its documented API."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from culprit.core.annotations import Annotation as Told
from culprit.core.annotations import made, milliseconds, tag
from culprit.infra.db import Database, database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Capture,
    Fix,
    GrafanaAnnotation,
    Host,
    Hypothesis,
    Incident,
    IncidentHost,
    NetworkRule,
    Run,
)
from culprit.tests.support.fleet import add_hosts
from culprit.tests.support.grafana import TOKEN, Grafana, grafana
from culprit.workflows.annotate import send_annotation, survey
from culprit.workflows.doorbells import doorbells
from culprit.workflows.send_notice import PAUSES_S
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update

API = "/api/v1"


@pytest.fixture
def there() -> Iterator[Grafana]:
    with grafana() as one:
        yield one


@pytest.fixture
def channel(as_, db: Database, there: Grafana) -> dict:
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.1/32", port_from=1, port_to=65535, note=""))
    body = {"name": "graphs", "kind": "grafana", "url": there.url, "secret": TOKEN}
    answer = as_("admin").post(f"{API}/channels", json=body)
    assert answer.status_code == 201 and answer.json()["secret"] is None and TOKEN not in answer.text
    return answer.json()


@pytest.fixture
def story(db: Database, people) -> dict:
    """An incident on one host with a capture, a likely cause and an applied fix."""
    at = now()
    with unit_of_work(db.sessions) as session:
        [host] = add_hosts(session, ["web<1>,"], [{"role": "feed"}])
        capture = Capture(plan="triage", state="done", ended_at=at, created_at=at - timedelta(minutes=1))
        incident = Incident(title="<script>x</script>", severity=2, window_from=at - timedelta(minutes=9))
        session.add_all([capture, incident])
        session.flush()
        session.add(Run(capture_id=capture.id, host_id=host, state="done"))
        session.add(IncidentHost(incident_id=incident.id, host_id=host))
        cause = Hypothesis(
            incident_id=incident.id, key="own/1", says={"en": "too many", "zh": "太多"}, state="likely"
        )
        fix = Fix(incident_id=incident.id, what="fewer threads", state="applied", applied_at=at)
        session.add_all([cause, fix])
        session.flush()
        return {"capture": capture.id, "incident": incident.id, "cause": cause.id, "fix": fix.id}


def deliver(db: Database) -> list[str | None]:
    """Sends what waits, however long it would."""
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(GrafanaAnnotation).where(GrafanaAnnotation.state == "queued").values(not_before=now())
        )
    with db.sessions() as session:
        waiting = [one for name, one in doorbells(session) if name == "culprit.send_annotation"]
    return [send_annotation(one) for one in waiting]


def tagged(there: Grafana, name: str) -> list[dict]:
    return [one for one in there.kept.values() if name in one["tags"]]


def test_each_thing_is_there_once_with_its_tags(db: Database, channel, story, there: Grafana) -> None:
    assert survey(database()) == 4
    assert deliver(db) == ["sent"] * 4
    assert survey(database()) == 0 and deliver(db) == [], "nothing changed"
    [incident], [cause], [fix], [capture] = (
        tagged(there, one) for one in ("incident", "cause", "fix", "capture")
    )
    assert (
        "severity:2" in incident["tags"]
        and "host:web<1>" in incident["tags"]
        and "culprit" in incident["tags"]
    )
    assert "&lt;script&gt;" in incident["text"] and "<script>" not in incident["text"]
    assert incident["timeEnd"] == incident["time"], "it goes on"
    assert "confidence:likely" in cause["tags"] and "too many" in cause["text"]
    assert (
        "fewer threads" in fix["text"]
        and f'href="http://testserver/incidents/{story["incident"]}' in fix["text"]
    )
    assert capture["timeEnd"] - capture["time"] == 60_000


def test_what_changes_here_changes_there(db: Database, channel, story, there: Grafana, as_) -> None:
    survey(database())
    deliver(db)
    with unit_of_work(db.sessions) as session:
        incident = session.get_one(Incident, story["incident"])
        incident.state, incident.resolved_at, incident.updated_at = "resolved", now(), now()
        session.get_one(Hypothesis, story["cause"]).state = "refuted"
    assert survey(database()) == 2
    assert sorted(map(str, deliver(db))) == ["gone", "sent"]
    [now_there] = tagged(there, "incident")
    assert now_there["timeEnd"] > now_there["time"] and "state:resolved" in now_there["tags"]
    assert tagged(there, "cause") == [] and len(there.kept) == 3
    with unit_of_work(db.sessions) as session:
        session.get_one(Hypothesis, story["cause"]).state = "confirmed"
    survey(database())
    deliver(db)
    assert "confidence:confirmed" in tagged(there, "cause")[0]["tags"]


def test_a_deploy_is_there_until_it_is_withdrawn(db: Database, channel, there: Grafana, as_) -> None:
    told = as_("oncall").post(
        f"{API}/events", json={"kind": "deploy", "what": "feed 4f2a <b>", "who": "ci", "everywhere": True}
    )
    assert told.status_code in {200, 201}, told.text
    assert survey(database()) == 1 and deliver(db) == ["sent"]
    [one] = tagged(there, "deploy")
    assert "feed 4f2a &lt;b&gt; (ci)" in one["text"] and "everywhere" in one["tags"]
    to = milliseconds(now()) + 1000
    rows = as_("viewer").get(f"{API}/grafana/annotations", params={"from": to - 60_000, "to": to}).json()
    assert [row["tags"][1] for row in rows] == ["deploy"]
    withdrawn = as_("oncall").delete(f"{API}/events/{told.json()['id']}")
    assert withdrawn.status_code in {200, 204}, withdrawn.text
    assert survey(database()) == 1 and deliver(db) == ["gone"] and there.kept == {}


def test_an_answer_that_is_lost_makes_no_second_one(db: Database, channel, story, there: Grafana) -> None:
    survey(database())
    there.deaf = True
    assert deliver(db) == ["queued"] * 4 and len(there.kept) == 4
    there.deaf = False
    assert deliver(db) == ["sent"] * 4
    assert len(there.kept) == 4 and there.asked.count("POST /api/annotations") == 4


def test_what_somebody_deleted_there_comes_back_when_it_changes(
    db: Database, channel, story, there: Grafana
) -> None:
    survey(database())
    deliver(db)
    there.kept.clear()
    with unit_of_work(db.sessions) as session:
        session.get_one(Fix, story["fix"]).state = "verified"
    assert survey(database()) == 1 and deliver(db) == ["sent"]
    assert [one["tags"][2] for one in there.kept.values()] == ["state:verified"]


def test_while_it_is_away_it_is_tried_again_and_then_dead(
    db: Database, channel, story, there: Grafana, as_
) -> None:
    survey(database())
    there.away = True
    outcomes = [deliver(db) for _ in range(len(PAUSES_S) + 1)]
    assert outcomes[0] == ["queued"] * 4 and outcomes[-1] == ["dead"] * 4
    listed = as_("admin").get(f"{API}/channels").json()["items"][0]
    assert (listed["queued"], listed["dead"]) == (0, 4)
    with db.sessions() as session:
        assert {row.failure["key"] for row in session.scalars(select(GrafanaAnnotation))} == {
            "outgoing.status"
        }


def test_what_was_given_up_is_tried_again(db: Database, channel, story, there: Grafana, as_, client) -> None:
    survey(database())
    there.away = True
    for _ in range(len(PAUSES_S) + 1):
        deliver(db)
    there.away = False
    dead = as_("oncall").get(f"{API}/grafana-annotations?state=dead").json()["items"]
    assert {one["about"] for one in dead} == {"capture", "incident", "cause", "fix"}
    [incident] = [one for one in dead if one["about"] == "incident"]
    assert incident["about_id"] == str(story["incident"]) and incident["channel"] == "graphs"
    assert "<script>x</script>" in incident["text"] and "href" not in incident["text"]
    assert incident["failure"]["key"] == "outgoing.status"
    assert {one["text"] for one in as_("scoped").get(f"{API}/grafana-annotations").json()["items"]} == {""}

    one = f"{API}/grafana-annotations/{incident['id']}/again"
    assert as_("oncall").post(one).status_code == 403
    assert as_("admin").post(one).json()["state"] == "queued"
    assert as_("admin").post(one).status_code == 409
    assert as_("admin").post(one.replace(incident["id"], channel["id"])).status_code == 404
    assert deliver(db) == ["sent"] and len(tagged(there, "incident")) == 1

    every = f"{API}/channels/{channel['id']}/again"
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": False})
    assert as_("admin").post(every).json()["key"] == "channel.disabled"
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": True})
    assert as_("oncall").post(every).status_code == 403
    answer = as_("admin").post(every).json()
    assert (answer["queued"], answer["dead"]) == (3, 0)
    assert deliver(db) == ["sent"] * 3 and len(there.kept) == 4
    told = as_("admin").get(f"{API}/audit").json()["items"]
    assert [one["detail"]["tried"] for one in told if one["action"] == "channel.again"] == [3]


def test_what_was_to_disappear_and_did_not_disappears(
    db: Database, channel, story, there: Grafana, as_
) -> None:
    survey(database())
    deliver(db)
    with unit_of_work(db.sessions) as session:
        session.get_one(Hypothesis, story["cause"]).state = "refuted"
    survey(database())
    there.away = True
    for _ in range(len(PAUSES_S) + 1):
        deliver(db)
    there.away = False
    [dead] = as_("admin").get(f"{API}/grafana-annotations?state=dead").json()["items"]
    assert (dead["about"], dead["removed"]) == ("cause", True) and tagged(there, "cause")
    as_("admin").post(f"{API}/grafana-annotations/{dead['id']}/again")
    assert deliver(db) == ["gone"] and not tagged(there, "cause")


def test_a_wrong_token_is_dead_at_once(db: Database, as_, story, there: Grafana, channel) -> None:
    as_("admin").delete(f"{API}/channels/{channel['id']}")
    body = {"name": "wrong", "kind": "grafana", "url": there.url, "secret": "x" * 20}
    as_("admin").post(f"{API}/channels", json=body)
    survey(database())
    assert deliver(db) == ["dead"] * 4 and there.kept == {}


def test_what_changes_while_it_is_sent_is_sent_again(
    db: Database, channel, story, there: Grafana, monkeypatch
) -> None:
    from culprit.workflows import annotate

    survey(database())
    real = annotate._deliver

    def slow(one):
        number = real(one)
        with unit_of_work(db.sessions) as session:
            session.get_one(Incident, story["incident"]).title = "another"
        annotate.survey(database())
        return number

    with db.sessions() as session:
        row = session.scalars(
            select(GrafanaAnnotation).where(GrafanaAnnotation.key == f"incident:{story['incident']}")
        ).one()
    monkeypatch.setattr(annotate, "_deliver", slow)
    assert send_annotation(row.id) == "queued"
    monkeypatch.setattr(annotate, "_deliver", real)
    deliver(db)
    [one] = tagged(there, "incident")
    assert "another" in one["text"]


def test_it_is_no_place_for_messages(as_, db: Database, channel, people) -> None:
    assert (
        as_("admin").post(f"{API}/channels/{channel['id']}/test").json()["key"] == "channel.takes_no_messages"
    )
    trigger = {"name": "t", "kind": "generic", "channel_ids": [channel["id"]]}
    assert as_("oncall").post(f"{API}/triggers", json=trigger).status_code == 404
    for body in ({"secret": None}, {"user_id": str(people["oncall"].id)}):
        whole = {"name": "n", "kind": "grafana", "url": "http://127.0.0.1:3000", "secret": TOKEN} | body
        assert as_("admin").post(f"{API}/channels", json=whole).status_code == 422


def test_turned_off_nothing_is_sent_and_afterwards_it_is(
    as_, db: Database, channel, story, there: Grafana
) -> None:
    survey(database())
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": False})
    assert deliver(db) == ["dead"] * 4 and there.kept == {} and survey(database()) == 0
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": True})
    assert survey(database()) == 4 and deliver(db) == ["sent"] * 4


def test_the_form_that_is_fetched(as_, db: Database, story) -> None:
    to = milliseconds(now())
    rows = as_("viewer").get(f"{API}/grafana/annotations", params={"from": to - 3_600_000, "to": to}).json()
    assert {one["tags"][1] for one in rows} == {"incident", "cause", "fix", "capture"}
    assert all(set(one) == {"time", "timeEnd", "text", "tags"} for one in rows)
    assert as_("viewer").get(f"{API}/grafana/annotations", params={"from": 0, "to": 1}).json() == []
    assert as_("viewer").get(f"{API}/grafana/annotations", params={"from": 2, "to": 1}).status_code == 422
    with unit_of_work(db.sessions) as session:
        session.execute(update(Host).values(labels={"role": "ads"}))
    assert (
        as_("scoped").get(f"{API}/grafana/annotations", params={"from": to - 3_600_000, "to": to}).json()
        == []
    )


@given(st.text(max_size=300), st.lists(st.text(max_size=150), max_size=40), st.integers(-100, 100))
def test_any_words_are_harmless(text: str, tags: list[str], minutes: int) -> None:
    at = now()
    one = made("k:1", at, at + timedelta(minutes=minutes), text, "http://x/?a=1&b=2", tags)
    said = one.text.removesuffix(' <a href="http://x/?a=1&amp;b=2">Culprit</a>')
    assert "<" not in said and ">" not in said and '"' not in said
    assert one.end_ms is not None and one.end_ms >= one.time_ms and len(one.tags) <= 20
    assert all("," not in each and len(each) <= 100 for each in one.tags)
    assert Told.of(one.key, one.body()) == one and one.digest == Told.of(one.key, one.body()).digest


def test_a_tag_is_one_tag() -> None:
    assert tag("a,b\n\tc") == "a b c"
