"""Tests of the playbook API: catalog, validation and dry runs."""

from culprit.analysis.playbooks.library import CATALOG
from culprit.infra.artifacts.store import artifact_store
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs

API = "/api/v1"
PORTS = "connect-port-exhaustion"
BOOT = 500 * 10**9
#: Half of two CPUs, then nearly all of them.
BUSY = "cpu  {0} 0 0 {1} 0 0 0 0 0 0\ncpu0 {0} 0 0 {1} 0 0 0 0 0 0\nprocs_running 1\n"


def busy(db) -> object:
    texts = [BUSY.format(at * 99, at) for at in range(10)]
    parts = {"cpu_stat": {"samples": runs.sampled("/proc/stat", texts, BOOT)}}
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT))
    ingest_run(waiting.run_id)
    evaluate_run(waiting.run_id)
    return waiting


def test_playbooks_lists_catalog(as_) -> None:
    viewer = as_("viewer")
    listed = {item["id"]: item for item in viewer.get(f"{API}/playbooks").json()}
    assert listed[PORTS]["steps"] > 3 and "ephemeral-port-exhaustion" in listed[PORTS]["causes"]
    item = viewer.get(f"{API}/playbooks/{PORTS}").json()
    assert item["steps"][1]["finding"] == "F-NET-TIMEWAIT-PRESSURE" and item["not_covered"]
    assert viewer.get(f"{API}/playbooks/nothing").status_code == 404


def test_playbook_check_validates_custom_playbook(as_) -> None:
    text = (CATALOG / f"{PORTS}.yaml").read_text()
    sound = as_("viewer").post(f"{API}/playbooks/check", json={"text": text}).json()
    assert sound["problems"] == [] and sound["playbook"]["id"] == PORTS
    broken = text.replace("F-NET-PORT-EXHAUSTION", "F-NET-PORTS")
    reported = as_("viewer").post(f"{API}/playbooks/check", json={"text": broken}).json()
    assert reported["playbook"] is None
    assert {
        "location": "steps.ports-left.finding",
        "what": {"key": "playbook.no_rule", "params": {"id": "F-NET-PORTS"}},
    } in (reported["problems"])


def test_dry_run_returns_verdicts_and_gaps(as_, db) -> None:
    run = busy(db)
    chain = (
        as_("investigator").get(f"{API}/playbooks/{PORTS}/dry-run", params={"run_id": str(run.run_id)}).json()
    )
    answers = {answer["step"]: answer for answer in chain["answers"]}
    assert (answers["cpu-busy"]["verdict"], answers["cpu-busy"]["by"]) == ("supports", "rule")
    assert answers["cpu-busy"]["findings"][0]["numbers"][0]["citations"][0]["lines"]
    assert answers["time-wait"]["verdict"] == "not_collected" and answers["time-wait"]["reason"]
    assert chain["path"][0] == "cpu-busy" and "time-wait" in chain["gaps"]
    assert {item["status"] for item in chain["hypotheses"]} == {"open"}
    assert (chain["next"]["step"], chain["next"]["collectors"]) == ("peer-slow", ["tcp_waits"]), (
        "the mechanism, for little"
    )


def test_dry_run_proposes_only_permitted_collectors(as_, db) -> None:
    run = busy(db)
    chain = as_("viewer").get(f"{API}/playbooks/{PORTS}/dry-run", params={"run_id": str(run.run_id)}).json()
    assert chain["next"] is None
