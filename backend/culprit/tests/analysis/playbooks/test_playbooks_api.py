"""Playbooks over HTTP: read, checked, and tried against what a run brought home."""

from culprit.infra.artifacts import artifact_store
from culprit.playbooks.library import CATALOG
from culprit.tests.support import runs
from culprit.workflows.evaluate_run import evaluate_run
from culprit.workflows.ingest_run import ingest_run

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


def test_the_catalogue_and_one_of_it(as_) -> None:
    viewer = as_("viewer")
    listed = {one["id"]: one for one in viewer.get(f"{API}/playbooks").json()}
    assert listed[PORTS]["steps"] > 3 and "ephemeral-port-exhaustion" in listed[PORTS]["causes"]
    one = viewer.get(f"{API}/playbooks/{PORTS}").json()
    assert one["steps"][1]["finding"] == "F-NET-TIMEWAIT-PRESSURE" and one["not_covered"]
    assert viewer.get(f"{API}/playbooks/nothing").status_code == 404


def test_one_of_ones_own_is_checked(as_) -> None:
    text = (CATALOG / f"{PORTS}.yaml").read_text()
    sound = as_("viewer").post(f"{API}/playbooks/check", json={"text": text}).json()
    assert sound["problems"] == [] and sound["playbook"]["id"] == PORTS
    broken = text.replace("F-NET-PORT-EXHAUSTION", "F-NET-PORTS")
    told = as_("viewer").post(f"{API}/playbooks/check", json={"text": broken}).json()
    assert told["playbook"] is None
    assert {
        "where": "steps.ports-left.finding",
        "what": {"key": "playbook.no_rule", "params": {"id": "F-NET-PORTS"}},
    } in (told["problems"])


def test_it_is_tried_on_a_run_and_says_what_is_missing(as_, db) -> None:
    run = busy(db)
    chain = (
        as_("investigator").get(f"{API}/playbooks/{PORTS}/chain", params={"run_id": str(run.run_id)}).json()
    )
    answers = {one["step"]: one for one in chain["answers"]}
    assert (answers["cpu-busy"]["verdict"], answers["cpu-busy"]["by"]) == ("supports", "rule")
    assert answers["cpu-busy"]["findings"][0]["numbers"][0]["citations"][0]["lines"]
    assert answers["time-wait"]["verdict"] == "not_collected" and answers["time-wait"]["reason"]
    assert chain["path"][0] == "cpu-busy" and "time-wait" in chain["gaps"]
    assert {one["standing"] for one in chain["stands"]} == {"open"}
    assert (chain["next"]["step"], chain["next"]["collectors"]) == ("peer-slow", ["tcp_waits"]), (
        "the mechanism, for little"
    )


def test_a_viewer_is_proposed_nothing_that_a_viewer_may_not_run(as_, db) -> None:
    run = busy(db)
    chain = as_("viewer").get(f"{API}/playbooks/{PORTS}/chain", params={"run_id": str(run.run_id)}).json()
    assert chain["next"] is None
