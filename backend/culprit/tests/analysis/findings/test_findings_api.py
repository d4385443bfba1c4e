"""Findings, rules, causes and thresholds over HTTP."""

from datetime import UTC, datetime

from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.threshold import ThresholdOverride
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from culprit.tests.support.incidents import evaluated
from sqlalchemy import select

from collectors.plans import PLANS

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
    reported = viewer.get(f"{API}/runs/{waiting.run_id}/findings").json()
    [finding] = [finding for finding in reported["findings"] if finding["rule"] == RULE]
    assert finding["numbers"][0]["citations"][0]["lines"]
    [related] = finding["numbers"][1:]
    assert (related["measure"], related["op"], related["threshold"]) == (
        "tcp.listen_drops_per_s.mean",
        None,
        None,
    )
    assert related["citations"][0]["lines"]
    evidence = reported["ranking"]["causes"][0]["evidence"]
    assert [item["op"] for item in evidence] == [">", None]
    assert reported["ranking"]["causes"][0]["id"] == "listen-queue-overflow"
    assert reported["elapsed_ms"] > 0
    of_host = viewer.get(f"{API}/hosts/{waiting.host_id}/findings").json()
    assert (of_host["run_id"], of_host["plan"]) == (str(waiting.run_id), "triage")


def test_a_capture_of_few_collectors_does_not_replace_a_triage(db, as_):
    host = runs.make_host(db)
    few = [{"id": "ss", "seconds": 5}]
    triage = [{"id": collector.id, "seconds": 8} for collector in PLANS["triage"].collectors]
    old, complete, newest = (evaluated(db, host, {}, t0_ns=at * 10**9) for at in (1, 2, 3))
    with unit_of_work(db.sessions) as session:
        for at, run, collectors in ((1, old, triage), (2, complete, triage), (3, newest, few)):
            session.get_one(Capture, run.capture_id).collectors = collectors
            session.get_one(Run, run.run_id).ended_at = datetime.fromtimestamp(1e9 + at, UTC)
    assert as_("viewer").get(f"{API}/hosts/{host}/findings").json()["run_id"] == str(complete.run_id)


def test_findings_api_lists_catalogs(as_):
    rules = {item["id"]: item for item in as_("viewer").get(f"{API}/rules").json()}
    causes = {item["id"]: item for item in as_("viewer").get(f"{API}/causes").json()}
    assert rules[RULE]["thresholds"][0]["name"] == "warn"
    assert all(item["title"]["en"] and item["title"]["zh"] for item in rules[RULE]["related"])
    assert RULE in causes["listen-queue-overflow"]["rules"]


def test_thresholds_are_set_replaced_and_taken_back(db, as_, session):
    admin = as_("admin")
    requested = {"name": f"{RULE}.warn", "value": 3, "why": "bursts at restart"}
    first = admin.put(f"{API}/thresholds", json=requested)
    assert (first.status_code, first.json()["default"]) == (200, 0)
    assert admin.put(f"{API}/thresholds", json={**requested, "value": 4}).json()["value"] == 4
    assert session.scalars(select(ThresholdOverride.value)).all() == [4]
    labelled = admin.put(f"{API}/thresholds", json={**requested, "label_name": "role", "label_value": "edge"})
    assert labelled.status_code == 200
    reported = as_("viewer").get(f"{API}/thresholds").json()
    assert len(reported) == 2
    for item in reported:
        assert admin.delete(f"{API}/thresholds/{item['id']}").status_code == 204
    assert as_("viewer").get(f"{API}/thresholds").json() == []


def test_a_threshold_that_no_rule_has_is_refused(as_):
    requested = {"name": "F-NO-SUCH.warn", "value": 3, "why": "because"}
    refused = as_("admin").put(f"{API}/thresholds", json=requested)
    assert (refused.status_code, refused.json()["key"]) == (422, "threshold.unknown")


def test_the_catalog_has_all_lists_and_is_sent_again_only_when_it_changed(db, as_):
    viewer = as_("viewer")
    answer = viewer.get(f"{API}/catalog")
    catalog = answer.json()
    for name, path in (("rules", "rules"), ("causes", "causes"), ("plans", "catalog/plans"),
                       ("metrics", "catalog/metrics"), ("collectors", "catalog/collectors")):  # fmt: skip
        assert catalog[name] == viewer.get(f"{API}/{path}").json()
    assert answer.headers["cache-control"] == "private, no-cache"
    plain = viewer.get(f"{API}/catalog", headers={"Accept-Encoding": "identity"})
    assert plain.json() == catalog and "content-encoding" not in plain.headers
    again = viewer.get(f"{API}/catalog", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
