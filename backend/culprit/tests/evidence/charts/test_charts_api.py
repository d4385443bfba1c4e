"""Pictures over HTTP: of what was stored, cited by the stored artifact, and only what was asked for."""

from __future__ import annotations

from culprit.infra.artifacts import artifact_store
from culprit.kit.uuid7 import uuid7
from culprit.models import Artifact
from culprit.tests.support import runs
from culprit.workflows.ingest_run import ingest_run

from collectors.tests.record_fixtures import FIXTURES

API = "/api/v1"
BOOT = 500 * 10**9
FOLDER = "debian-12-faulty"


def busy(db) -> object:
    """A run with the queues of a host that were really full, and counters that moved."""
    texts = [f"TcpExt: ListenOverflows\nTcpExt: {50 * at}\n" for at in range(10)]
    parts = {
        "netstat_ext": {"samples": runs.sampled("/proc/net/netstat", texts, BOOT)},
        "ss_listen": {"samples": (FIXTURES / "ss_listen" / FOLDER / "samples").read_bytes()},
    }
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT))
    ingest_run(waiting.run_id)
    return waiting


def test_pictures_cite_the_stored_artifact(db, as_, session, config):
    waiting = busy(db)
    told = as_("viewer").get(f"{API}/runs/{waiting.run_id}/visuals").json()
    by_id = {one["id"]: one for one in told["visuals"]}
    [ladder, queues] = [by_id[name] for name in ("drop-ladder", "listener-queues")]
    cite = queues["body"]["rows"][0]["value"]["cite"]
    artifact = session.get_one(Artifact, cite["artifact"])
    assert (artifact.run_id, cite["collector"], cite["run"]) == (
        waiting.run_id,
        "ss_listen",
        str(waiting.run_id),
    )
    assert cite["lines"]
    layers = {one["id"]: one for one in ladder["body"]["layers"]}
    assert layers["socket"]["state"] == "bad"
    assert layers["socket"]["losses"][0]["rate"]["value"] == 50
    assert layers["softnet"]["state"] == "no_data"
    assert layers["softnet"]["reason"]["key"] == "missing.not_collected"
    assert by_id["tcp-states"]["state"] == "no_data"
    assert by_id["tcp-states"]["reason"]["params"]["collector"] == "ss"


def test_only_what_is_asked_for_is_drawn(db, as_, session, config):
    waiting = busy(db)
    viewer = as_("viewer")

    def ids(query: str) -> set[str]:
        answer = viewer.get(f"{API}/runs/{waiting.run_id}/visuals?{query}")
        assert answer.status_code == 200
        return {one["id"] for one in answer.json()["visuals"]}

    assert ids("ids=tcp-states") == {"tcp-states"}
    assert ids("findings=F-APP-SPAN-DOMINANT") == {"call-path"}
    assert {"drop-ladder", "listener-queues", "tcp-states"} <= ids(
        "findings=F-NET-LISTEN-OVERFLOW&ids=tcp-states"
    )
    assert ids("ids=no-such") == set()
    assert viewer.get(f"{API}/runs/{waiting.run_id}/visuals?ids=NO+SUCH").status_code == 422
    assert viewer.get(f"{API}/runs/{uuid7()}/visuals").status_code == 404


def test_the_catalogue_tells_how_to_read_them(as_):
    told = {one["id"]: one for one in as_("viewer").get(f"{API}/visuals").json()}
    assert told["drop-ladder"]["says"]["zh"]
    assert "F-NET-LISTEN-OVERFLOW" in told["listener-queues"]["rules"]
