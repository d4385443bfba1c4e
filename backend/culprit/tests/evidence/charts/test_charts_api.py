"""Pictures over HTTP: of what was stored, cited by the stored artifact, and only what was asked for."""

from __future__ import annotations

from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.evidence.artifact import Artifact
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs

from collectors.tests.fixture_files import fixture_folder

API = "/api/v1"
BOOT = 500 * 10**9
FOLDER = "debian-12-faulty"


def busy(db) -> object:
    """A run with the queues of a host that were really full, and counters that moved."""
    texts = [f"TcpExt: ListenOverflows\nTcpExt: {50 * at}\n" for at in range(10)]
    parts = {
        "netstat_ext": {"samples": runs.sampled("/proc/net/netstat", texts, BOOT)},
        "ss_listen": {"samples": (fixture_folder("ss_listen") / FOLDER / "samples").read_bytes()},
    }
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT))
    ingest_run(waiting.run_id)
    return waiting


def test_pictures_cite_the_stored_artifact(db, as_, session, config):
    waiting = busy(db)
    reported = as_("viewer").get(f"{API}/runs/{waiting.run_id}/charts").json()
    by_id = {chart["id"]: chart for chart in reported["charts"]}
    [ladder, queues] = [by_id[name] for name in ("drop-ladder", "listener-queues")]
    citation = queues["body"]["rows"][0]["value"]["citation"]
    artifact = session.get_one(Artifact, citation["artifact"])
    assert (artifact.run_id, citation["collector"], citation["run"]) == (
        waiting.run_id,
        "ss_listen",
        str(waiting.run_id),
    )
    assert citation["lines"]
    layers = {layer["id"]: layer for layer in ladder["body"]["layers"]}
    assert layers["socket"]["state"] == "bad"
    assert layers["socket"]["losses"][0]["rate"]["value"] == 50
    assert layers["softnet"]["state"] == "no_data"
    assert layers["softnet"]["reason"]["key"] == "missing.not_collected"
    assert by_id["tcp-states"]["state"] == "no_data"
    assert by_id["tcp-states"]["reason"]["params"]["collector"] == "ss"


def test_charts_api_returns_requested_charts(db, as_, session, config):
    waiting = busy(db)
    viewer = as_("viewer")

    def ids(query: str) -> set[str]:
        answer = viewer.get(f"{API}/runs/{waiting.run_id}/charts?{query}")
        assert answer.status_code == 200
        return {chart["id"] for chart in answer.json()["charts"]}

    assert ids("ids=tcp-states") == {"tcp-states"}
    assert ids("findings=F-APP-SPAN-DOMINANT") == {"call-path"}
    assert {"drop-ladder", "listener-queues", "tcp-states"} <= ids(
        "findings=F-NET-LISTEN-OVERFLOW&ids=tcp-states"
    )
    assert ids("ids=no-such") == set()
    assert viewer.get(f"{API}/runs/{waiting.run_id}/charts?ids=NO+SUCH").status_code == 422
    assert viewer.get(f"{API}/runs/{new_uuid7()}/charts").status_code == 404


def test_chart_types_have_summary_and_rules(as_):
    reported = {item["id"]: item for item in as_("viewer").get(f"{API}/chart-types").json()}
    assert reported["drop-ladder"]["summary"]["zh"]
    assert "F-NET-LISTEN-OVERFLOW" in reported["listener-queues"]["rules"]
