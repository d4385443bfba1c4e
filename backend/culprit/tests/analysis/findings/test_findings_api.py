"""Findings, rules, causes and thresholds over HTTP."""

from culprit.infra.artifacts import artifact_store
from culprit.models import Threshold
from culprit.tests.support import runs
from culprit.workflows.evaluate_run import evaluate_run
from culprit.workflows.ingest_run import ingest_run
from sqlalchemy import select

API = "/api/v1"
RULE = "F-NET-LISTEN-OVERFLOW"
BOOT = 500 * 10**9


def overflowing(db) -> object:
    texts = [f"TcpExt: ListenOverflows ListenDrops\nTcpExt: {50 * at} {60 * at}\n" for at in range(10)]
    parts = {"netstat_ext": {"samples": runs.sampled("/proc/net/netstat", texts, BOOT)}}
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT))
    ingest_run(waiting.run_id)
    return waiting


def test_findings_of_a_run_and_of_its_host(db, as_, config):
    waiting = overflowing(db)
    viewer = as_("viewer")
    before = viewer.get(f"{API}/runs/{waiting.run_id}/findings").json()
    assert (before["evaluated_at"], before["findings"]) == (None, [])
    assert viewer.get(f"{API}/hosts/{waiting.host_id}/findings").json() is None
    evaluate_run(waiting.run_id)
    told = viewer.get(f"{API}/runs/{waiting.run_id}/findings").json()
    [finding] = [one for one in told["findings"] if one["rule"] == RULE]
    assert finding["numbers"][0]["citations"][0]["lines"]
    [beside] = finding["numbers"][1:]
    assert (beside["measure"], beside["op"], beside["threshold"]) == (
        "tcp.listen_drops_per_s.mean",
        None,
        None,
    )
    assert beside["citations"][0]["lines"]
    evidence = told["ranking"]["causes"][0]["evidence"]
    assert [one["op"] for one in evidence] == [">", None]
    assert told["ranking"]["causes"][0]["id"] == "listen-queue-overflow"
    assert told["elapsed_ms"] > 0
    of_host = viewer.get(f"{API}/hosts/{waiting.host_id}/findings").json()
    assert (of_host["run_id"], of_host["plan"]) == (str(waiting.run_id), "triage")


def test_the_catalogues_are_told(as_):
    rules = {one["id"]: one for one in as_("viewer").get(f"{API}/rules").json()}
    causes = {one["id"]: one for one in as_("viewer").get(f"{API}/causes").json()}
    assert rules[RULE]["limits"][0]["name"] == "warn"
    assert all(one["title"]["en"] and one["title"]["zh"] for one in rules[RULE]["beside"])
    assert RULE in causes["listen-queue-overflow"]["rules"]


def test_thresholds_are_set_replaced_and_taken_back(db, as_, session):
    admin = as_("admin")
    wanted = {"name": f"{RULE}.warn", "value": 3, "why": "bursts at restart"}
    first = admin.put(f"{API}/thresholds", json=wanted)
    assert (first.status_code, first.json()["default"]) == (200, 0)
    assert admin.put(f"{API}/thresholds", json={**wanted, "value": 4}).json()["value"] == 4
    assert session.scalars(select(Threshold.value)).all() == [4]
    labelled = admin.put(f"{API}/thresholds", json={**wanted, "label_name": "role", "label_value": "edge"})
    assert labelled.status_code == 200
    told = as_("viewer").get(f"{API}/thresholds").json()
    assert len(told) == 2
    for one in told:
        assert admin.delete(f"{API}/thresholds/{one['id']}").status_code == 204
    assert as_("viewer").get(f"{API}/thresholds").json() == []


def test_a_threshold_that_no_rule_has_is_refused(as_):
    wanted = {"name": "F-NO-SUCH.warn", "value": 3, "why": "because"}
    refused = as_("admin").put(f"{API}/thresholds", json=wanted)
    assert (refused.status_code, refused.json()["key"]) == (422, "threshold.unknown")
