"""What a diagnosis brings along; live news; the bundle."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from datetime import timedelta
from uuid import UUID

from culprit.incidents import live
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Diagnosis, IncidentParticipant
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, Desk, evaluated, opened

CAUSE = "timewait-port-search"


def diagnosed(db, host, run) -> str:
    with unit_of_work(db.sessions) as session:
        one = Diagnosis(
            host_id=host, seconds=8, state="done", scope={"kind": "unit", "value": "nginx.service"},
            stages=[{"capture_id": str(run.capture_id)}], result={"causes": [{"id": CAUSE}, {"id": "no-such"}]},
        )  # fmt: skip
        session.add(one)
        session.flush()
        return str(one.id)


def test_an_incident_from_a_diagnosis(as_, db):
    host = runs.make_host(db)
    run = evaluated(db, host, {"port-search": "fired"}, t0_ns=10**18)
    client = as_("investigator")
    answer = client.post(f"{API}/incidents", json={"title": "t", "diagnosis_id": diagnosed(db, host, run)})
    desk = Desk(client, answer.json())
    assert answer.status_code == 201, answer.text
    assert desk.now["hosts"][0]["scope"] == {"kind": "unit", "value": "nginx.service"}
    assert [one["run_id"] for one in desk.now["runs"]] == [str(run.run_id)]
    assert BOOK in [one["id"] for one in desk.now["playbooks"]]
    assert CAUSE in {one["cause"] for one in desk.now["hypotheses"]}
    assert desk.now["window"]["from"].startswith("2001-09-09")
    assert desk.answer("port-search")["verdict"] == "supports"


def test_an_incident_from_runs_takes_the_causes_that_they_name(as_, db):
    host = runs.make_host(db)
    run = evaluated(db, host, {}, ranking={"causes": [{"id": "thread-oversubscription"}, {"id": CAUSE}]})
    body = {"title": "t", "run_ids": [str(run.run_id)]}
    now_ = as_("investigator").post(f"{API}/incidents", json=body).json()
    assert {"thread-oversubscription", CAUSE} <= {one["cause"] for one in now_["hypotheses"]}
    assert [one["id"] for one in now_["hosts"]] == [str(host)]


def test_what_is_out_of_sight_brings_nothing_along(as_, db):
    host = runs.make_host(db, "ads1", {"role": "ads"})
    run = evaluated(db, host, {})
    for body in ({"run_ids": [str(run.run_id)]}, {"diagnosis_id": diagnosed(db, host, run)}):
        assert as_("scoped").post(f"{API}/incidents", json={"title": "t", **body}).status_code == 404


def test_the_stream_tells_version_presence_and_runs(as_, db, people):
    host = runs.make_host(db)
    desk = opened(as_("investigator"), host)
    desk.post("runs", run_ids=[str(evaluated(db, host, {}).run_id)])
    answer = as_("viewer").get(f"{desk.url}/events", params={"once": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = dict(zip(*[iter(
        line.partition(": ")[2] for line in answer.text.splitlines() if line.startswith(("event:", "data:"))
    )] * 2, strict=True))  # fmt: skip
    assert json.loads(told["version"]) == {"version": 2, "state": "open"}
    assert json.loads(told["runs"])["runs"][0]["state"] == "done"
    here = {one["name"] for one in json.loads(told["presence"])["people"]}
    assert here == {"investigator", "viewer"}
    with unit_of_work(db.sessions) as session:
        for one in session.query(IncidentParticipant):
            one.seen_at = now() - timedelta(minutes=5)
    told = live.look(db.sessions, people["viewer"].actor, UUID(desk.now["id"]))
    assert [one["name"] for one in json.loads(told["presence"])["people"]] == ["viewer"]
    assert {one["name"]: one["here"] for one in desk.look()["people"]} == {
        "viewer": True,
        "investigator": False,
    }


def test_a_bundle_has_what_is_cited_and_no_names(as_, db):
    host = runs.make_host(db, "secret-host")
    desk = opened(as_("oncall"), host)
    told = b"# hostname : secret-host\nLinux 6.1.0 (vm) 11/22/26\ndb on secret-host:80, secret-hosts\n"
    run, idle = evaluated(db, host, {"port-search": "fired"}, lines=told), evaluated(db, host, {})
    recording = evaluated(db, host, {"port-search": "quiet"}, t0_ns=1, lines=b"PERFILE2\0secret-host")
    desk.post("runs", run_ids=[str(recording.run_id)])
    desk.pin(recording)
    desk.post("runs", run_ids=[str(run.run_id), str(idle.run_id)])
    pin = desk.pin(run)
    desk.post("wrong", cause="slow-dependency", true_cause=CAUSE, pins=[pin])
    assert as_("viewer").get(f"{desk.url}/bundle").status_code == 403
    answer = desk.client.get(f"{desk.url}/bundle")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        files = {one["run"]: one for one in manifest["artifacts"]}
        text = archive.read(files["run-1"]["file"])
        assert hashlib.sha256(text).hexdigest() == files["run-1"]["sha256"]
        assert text == b"# hostname : host\nLinux 6.1.0 (host) 11/22/26\ndb on host-1:80, secret-hosts\n"
        assert [one["file"] for one in files.values()].count(None) == 1, "a recording stays here"
    assert manifest["expected"] == {"causes": [CAUSE], "wrong": ["slow-dependency"]}
    assert [run["host"] for run in manifest["runs"]] == ["host-1"]
    assert "secret-host" not in json.dumps(manifest) and "oncall" not in json.dumps(manifest)
    step = next(one for one in manifest["steps"] if one["step"] == f"{BOOK}/port-search")
    assert (step["run"], step["verdict"]) == ("run-1", "supports")
