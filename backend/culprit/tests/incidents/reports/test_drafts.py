"""The first text of a report has what is known in the incident, in the language of the report."""

from __future__ import annotations

import pytest
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, Desk, evaluated, opened, verified

SYMPTOM = {
    "service": "orders",
    "latency": {"before": 520, "after": 2300, "unit": "ms"},
    "errors": {"before": None, "after": 4.5, "unit": "%"},
    "since": "2026-11-21T02:14:00Z",
}


@pytest.fixture
def host(db):
    return runs.make_host(db)


def draft(desk: Desk, **body: object) -> dict:
    answer = desk.client.post(f"{API}/incidents/{desk.now['id']}/reports", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_an_incident_without_cause_has_none_in_its_report(as_, host):
    desk = opened(as_("oncall"), host, title="orders are slow", playbooks=[])
    report = draft(desk)
    assert report["summary"].startswith("orders are slow: since 20")
    assert report["summary"].endswith("No cause is known yet.") and "()" not in report["summary"]
    assert report["impact"] == "" and report["mitigated_at"] is None


def test_symptom_cause_fix_and_times_are_those_of_the_incident(as_, db, host):
    desk = opened(as_("oncall"), host, symptom=SYMPTOM)
    run = evaluated(db, host, {"port-search": "matched", "ports-left": "not_matched"})
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.look()
    hypothesis = next(item for item in desk.now["hypotheses"] if item["supports"])
    desk.patch(f"hypotheses/{hypothesis['id']}", state="likely")
    verified(db, desk, hypothesis["id"])
    for state in ("investigating", "identified", "mitigated"):
        desk.patch(state=state)
    english, chinese = draft(desk), draft(desk, language="zh", zone="Asia/Shanghai")
    levels = "latency 520 ms → 2,300 ms, errors 4.5 %"
    assert english["summary"].startswith(
        f"orders: since 2026-11-21 02:14 UTC ({levels}). The likely cause is: "
    )
    assert "Fix, verified: keep alive." in english["summary"] and "{" not in english["summary"]
    assert english["impact"] == f"Since 2026-11-21 02:14 UTC: {levels}."
    assert english["mitigated_at"] == next(
        item["at"] for item in desk.look()["times"] if item["state"] == "mitigated"
    )
    assert chinese["summary"].startswith("orders：自 2026-11-21 10:14 CST 起（延迟 520 ms → 2,300 ms")
    assert "修复（已验证）：keep alive。" in chinese["summary"]


def test_a_rejected_cause_is_not_the_cause(as_, db, host):
    desk = opened(as_("oncall"), host)
    run = evaluated(db, host, {"port-search": "matched"})
    desk.post("runs", run_ids=[str(run.run_id)])
    hypothesis = next(item for item in desk.look()["hypotheses"] if item["supports"])
    desk.patch(f"hypotheses/{hypothesis['id']}", state="likely")
    before = desk.client.get(f"{API}/reports/{draft(desk)['id']}/preview/page").text
    desk.post("cause-rejections", cause=hypothesis["cause"])
    report = draft(desk)
    assert "No cause is known yet." in report["summary"]
    after = desk.client.get(f"{API}/reports/{report['id']}/preview/page").text
    assert "No cause was confirmed." not in before and "No cause was confirmed." in after
