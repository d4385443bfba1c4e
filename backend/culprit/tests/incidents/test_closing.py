"""What holds up the end of an incident, and what does not."""

from __future__ import annotations

import pytest
from culprit.models import AuditEntry
from culprit.tests.support.incidents import BOOK, Desk, evaluated, host_maker, opened, verified
from sqlalchemy import select

OTHER = "osync-io-latency"


@pytest.fixture
def host(db):
    return host_maker(db)("web1")


def mitigated(as_, db, host) -> Desk:
    """An incident with a confirmed cause of BOOK and another playbook that nothing answered."""
    desk = opened(as_("oncall"), host, playbooks=[BOOK, OTHER])
    run = evaluated(
        db, host, {"cpu-busy": "fired", "time-wait": "fired", "ports-left": "quiet", "port-search": "fired"}
    )
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.patch(state="investigating")
    search = desk.hypothesis("search")["id"]
    desk.patch(f"hypotheses/{search}", state="likely")
    desk.patch(state="identified")
    made = desk.post("fixes", hypothesis_id=search, what="keep alive")["made"]
    desk.patch(f"fixes/{made}", state="applied")
    desk.patch(state="mitigated")
    verified(db, desk, search)
    desk.look()
    desk.patch(f"hypotheses/{search}", state="confirmed")
    return desk


def of(desk: Desk, book: str) -> dict:
    return next(one for one in desk.now["playbooks"] if one["id"] == book)


def entries(desk: Desk) -> list[dict]:
    return desk.client.get(f"{desk.url}/journal").json()


def test_one_act_sets_a_playbook_aside_and_one_waives_what_the_cause_left_open(as_, db, host):
    desk = mitigated(as_, db, host)
    open_there = [one for one in desk.now["gaps"] if one.startswith(f"{OTHER}/")]
    assert open_there and f"{BOOK}/connect-slow" in desk.now["gaps"]
    assert desk.refused("PATCH", "", state="resolved") == (409, "incident.steps_open")

    desk.patch(f"playbooks/{OTHER}", aside=True, reason="the port search explains all of it")
    assert (of(desk, OTHER)["play"], of(desk, BOOK)["play"]) == ("aside", "asked")
    assert of(desk, OTHER)["aside"] == {
        "reason": "the port search explains all of it",
        "by": of(desk, OTHER)["aside"]["by"],
    }
    assert of(desk, OTHER)["aside"]["by"]["name"] == "oncall"
    assert desk.now["gaps"] == [f"{BOOK}/connect-slow"]
    assert all(not one["waived"] for one in desk.now["steps"]), "they stay what they are: unanswered"
    told = entries(desk)[-1]
    assert (told["kind"], told["note"]) == ("aside", "the port search explains all of it")
    assert told["params"] == {"playbook": OTHER, "count": len(open_there), "steps": ", ".join(open_there)}

    desk.post("waivers", steps=[f"{BOOK}/connect-slow"], reason="perf trace is not there")
    desk.patch(state="resolved")
    assert entries(desk)[-1]["params"]["unanswered"] == [f"{BOOK}/connect-slow", *open_there]
    with db.sessions() as session:
        acts = list(session.scalars(select(AuditEntry.action)))
    assert {"incident.aside", "incident.waive"} <= set(acts)


def test_what_was_set_aside_can_be_taken_up_again(as_, db, host):
    desk = mitigated(as_, db, host)
    before = desk.now["gaps"]
    desk.patch(f"playbooks/{OTHER}", aside=True, reason="not ours")
    desk.patch(f"playbooks/{OTHER}", aside=False)
    assert desk.now["gaps"] == before and of(desk, OTHER)["aside"] is None
    assert entries(desk)[-1]["kind"] == "taken_up"
    desk.patch(f"playbooks/{OTHER}", aside=True, reason="not ours")
    desk.post("playbooks", playbooks=[OTHER])
    assert desk.now["gaps"] == before, "whoever adds it again asks it again"


def test_a_cause_that_is_found_in_it_takes_a_playbook_up(as_, db, host):
    desk = opened(as_("oncall"), host)
    desk.post("runs", run_ids=[str(evaluated(db, host, {"port-search": "fired"}).run_id)])
    desk.patch(f"playbooks/{BOOK}", aside=True, reason="not ours")
    assert desk.now["gaps"] == [] and desk.now["next"] is None
    desk.patch(f"hypotheses/{desk.hypothesis('search')['id']}", state="likely")
    assert desk.now["gaps"] and of(desk, BOOK)["play"] == "asked"


def test_what_is_refused(as_, db, host):
    desk = mitigated(as_, db, host)
    gaps = desk.now["gaps"]
    assert desk.refused("PATCH", f"playbooks/{BOOK}", aside=True, reason="done") == (
        409, "incident.aside_of_cause",
    )  # fmt: skip
    assert desk.refused("PATCH", f"playbooks/{OTHER}", aside=True, reason=" x ") == (
        422, "incident.aside_needs_reason",
    )  # fmt: skip
    assert desk.refused("PATCH", "playbooks/no-such", aside=True, reason="none") == (
        404, "playbook.not_found",
    )  # fmt: skip
    assert desk.refused("POST", "waivers", steps=gaps, reason="all of it") == (
        422, "incident.waive_one_playbook",
    )  # fmt: skip
    assert desk.refused("POST", "waivers", steps=[], reason="none") == (422, "request.invalid")
    assert desk.refused("POST", "waivers", steps=["own/1"], reason="none") == (422, "incident.no_step")
    assert desk.look()["gaps"] == gaps


def test_several_steps_of_a_playbook_are_waived_at_once_and_named(as_, db, host):
    desk = opened(as_("oncall"), host)
    steps = desk.now["gaps"][:2]
    desk.post("waivers", steps=steps, reason="no tool there")
    assert [one["key"] for one in desk.now["steps"] if one["waived"]] == steps
    told = entries(desk)[-1]
    assert (told["kind"], told["params"]) == ("waivers", {"steps": ", ".join(steps), "count": 2})
