"""What holds up the end of an incident, and what does not."""

from __future__ import annotations

import pytest
from culprit.infra.models.accounts.audit_entry import AuditEntry
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
        db,
        host,
        {
            "cpu-busy": "matched",
            "time-wait": "matched",
            "ports-left": "not_matched",
            "port-search": "matched",
        },
    )
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.patch(state="investigating")
    search = desk.hypothesis("search")["id"]
    desk.patch(f"hypotheses/{search}", state="likely")
    desk.patch(state="identified")
    result = desk.post("fixes", hypothesis_id=search, what="keep alive")["created_id"]
    desk.patch(f"fixes/{result}", state="applied")
    desk.patch(state="mitigated")
    verified(db, desk, search)
    desk.look()
    desk.patch(f"hypotheses/{search}", state="confirmed")
    return desk


def of(desk: Desk, book: str) -> dict:
    return next(playbook for playbook in desk.now["playbooks"] if playbook["id"] == book)


def entries(desk: Desk) -> list[dict]:
    return desk.client.get(f"{desk.url}/journal").json()


def test_incident_can_dismiss_playbook_and_waive_open_steps(as_, db, host):
    desk = mitigated(as_, db, host)
    open_there = [gap for gap in desk.now["gaps"] if gap.startswith(f"{OTHER}/")]
    assert open_there and f"{BOOK}/connect-slow" in desk.now["gaps"]
    assert desk.refused("PATCH", "", state="resolved") == (409, "incident.steps_open")

    desk.patch(f"playbooks/{OTHER}", dismissed=True, reason="the port search explains all of it")
    assert (of(desk, OTHER)["state"], of(desk, BOOK)["state"]) == ("dismissed", "active")
    assert of(desk, OTHER)["dismissed"] == {
        "reason": "the port search explains all of it",
        "by": of(desk, OTHER)["dismissed"]["by"],
    }
    assert of(desk, OTHER)["dismissed"]["by"]["name"] == "oncall"
    assert desk.now["gaps"] == [f"{BOOK}/connect-slow"]
    assert all(not step["waived"] for step in desk.now["steps"]), "they stay what they are: unanswered"
    reported = entries(desk)[-1]
    assert (reported["kind"], reported["note"]) == (
        "playbook_dismissed",
        "the port search explains all of it",
    )
    assert reported["params"] == {"playbook": OTHER, "count": len(open_there), "steps": ", ".join(open_there)}

    desk.post("waivers", steps=[f"{BOOK}/connect-slow"], reason="perf trace is not there")
    desk.patch(state="resolved")
    assert entries(desk)[-1]["params"]["unanswered"] == [f"{BOOK}/connect-slow", *open_there]
    with db.sessions() as session:
        acts = list(session.scalars(select(AuditEntry.action)))
    assert {"incident.playbook", "incident.waive"} <= set(acts)


def test_dismissed_playbook_can_be_restored(as_, db, host):
    desk = mitigated(as_, db, host)
    before = desk.now["gaps"]
    desk.patch(f"playbooks/{OTHER}", dismissed=True, reason="not ours")
    desk.patch(f"playbooks/{OTHER}", dismissed=False)
    assert desk.now["gaps"] == before and of(desk, OTHER)["dismissed"] is None
    assert entries(desk)[-1]["kind"] == "playbook_restored"
    desk.patch(f"playbooks/{OTHER}", dismissed=True, reason="not ours")
    desk.post("playbooks", playbooks=[OTHER])
    assert desk.now["gaps"] == before, "adding the playbook again reopens its steps"


def test_likely_hypothesis_restores_dismissed_playbook(as_, db, host):
    desk = opened(as_("oncall"), host)
    desk.post("runs", run_ids=[str(evaluated(db, host, {"port-search": "matched"}).run_id)])
    desk.patch(f"playbooks/{BOOK}", dismissed=True, reason="not ours")
    assert desk.now["gaps"] == [] and desk.now["next"] is None
    desk.patch(f"hypotheses/{desk.hypothesis('search')['id']}", state="likely")
    assert desk.now["gaps"] and of(desk, BOOK)["state"] == "active"


def test_what_is_refused(as_, db, host):
    desk = mitigated(as_, db, host)
    gaps = desk.now["gaps"]
    assert desk.refused("PATCH", f"playbooks/{BOOK}", dismissed=True, reason="done") == (
        409, "incident.dismissal_of_cause",
    )  # fmt: skip
    assert desk.refused("PATCH", f"playbooks/{OTHER}", dismissed=True, reason=" x ") == (
        422, "incident.dismissal_needs_reason",
    )  # fmt: skip
    assert desk.refused("PATCH", "playbooks/no-such", dismissed=True, reason="none") == (
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
    assert [step["key"] for step in desk.now["steps"] if step["waived"]] == steps
    reported = entries(desk)[-1]
    assert (reported["kind"], reported["params"]) == ("steps_waived", {"steps": ", ".join(steps), "count": 2})
