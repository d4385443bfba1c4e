"""What a diagnosis brings along; live news; the bundle."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from datetime import timedelta
from uuid import UUID

from culprit.incidents import live_updates
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.incidents.incident_participant import IncidentParticipant
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, Desk, evaluated, opened

CAUSE = "timewait-port-search"


def diagnosed(db, host, run) -> str:
    with unit_of_work(db.sessions) as session:
        diagnosis = Diagnosis(
            host_id=host, seconds=8, state="done", scope={"kind": "unit", "value": "nginx.service"},
            stages=[{"capture_id": str(run.capture_id)}], result={"causes": [{"id": CAUSE}, {"id": "no-such"}]},
        )  # fmt: skip
        session.add(diagnosis)
        session.flush()
        return str(diagnosis.id)


def test_an_incident_from_a_diagnosis(as_, db):
    host = runs.make_host(db)
    run = evaluated(db, host, {"port-search": "matched"}, t0_ns=10**18)
    client = as_("investigator")
    answer = client.post(f"{API}/incidents", json={"title": "t", "diagnosis_id": diagnosed(db, host, run)})
    desk = Desk(client, answer.json())
    assert answer.status_code == 201, answer.text
    assert desk.now["hosts"][0]["scope"] == {"kind": "unit", "value": "nginx.service"}
    assert [run["run_id"] for run in desk.now["runs"]] == [str(run.run_id)]
    assert BOOK in [playbook["id"] for playbook in desk.now["playbooks"]]
    assert CAUSE in {hypothesis["cause"] for hypothesis in desk.now["hypotheses"]}
    assert desk.now["window"]["from"].startswith("2001-09-09")
    assert desk.answer("port-search")["verdict"] == "supports"


def test_an_incident_from_runs_takes_the_causes_that_they_name(as_, db):
    host = runs.make_host(db)
    run = evaluated(db, host, {}, ranking={"causes": [{"id": "thread-oversubscription"}, {"id": CAUSE}]})
    body = {"title": "t", "run_ids": [str(run.run_id)]}
    now_ = as_("investigator").post(f"{API}/incidents", json=body).json()
    assert {"thread-oversubscription", CAUSE} <= {hypothesis["cause"] for hypothesis in now_["hypotheses"]}
    assert [host["id"] for host in now_["hosts"]] == [str(host)]


def test_what_is_out_of_sight_brings_nothing_along(as_, db):
    host = runs.make_host(db, "ads1", {"role": "ads"})
    run = evaluated(db, host, {})
    for body in ({"run_ids": [str(run.run_id)]}, {"diagnosis_id": diagnosed(db, host, run)}):
        assert as_("scoped").post(f"{API}/incidents", json={"title": "t", **body}).status_code == 404


def test_updates_stream_sends_version_presence_and_runs(as_, db, people):
    host = runs.make_host(db)
    desk = opened(as_("investigator"), host)
    desk.post("runs", run_ids=[str(evaluated(db, host, {}).run_id)])
    answer = as_("viewer").get(f"{desk.url}/updates", params={"once": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = dict(zip(*[iter(
        line.partition(": ")[2] for line in answer.text.splitlines() if line.startswith(("event:", "data:"))
    )] * 2, strict=True))  # fmt: skip
    assert json.loads(events["version"]) == {"version": 2, "state": "open"}
    assert json.loads(events["runs"])["runs"][0]["state"] == "done"
    here = {person["name"] for person in json.loads(events["presence"])["people"]}
    assert here == {"investigator", "viewer"}
    with unit_of_work(db.sessions) as session:
        for item in session.query(IncidentParticipant):
            item.seen_at = utc_now() - timedelta(minutes=5)
    events = live_updates.load_events(db.sessions, people["viewer"].actor, UUID(desk.now["id"]))
    assert [person["name"] for person in json.loads(events["presence"])["people"]] == ["viewer"]
    assert {person["name"]: person["is_present"] for person in desk.look()["people"]} == {
        "viewer": True,
        "investigator": False,
    }


def test_a_bundle_has_what_is_cited_and_no_names(as_, db):
    host = runs.make_host(db, "secret-host")
    desk = opened(as_("oncall"), host)
    reported = b"# hostname : secret-host\nLinux 6.1.0 (vm) 11/22/26\ndb on secret-host:80, secret-hosts\n"
    run, idle = evaluated(db, host, {"port-search": "matched"}, lines=reported), evaluated(db, host, {})
    recording = evaluated(db, host, {"port-search": "not_matched"}, t0_ns=1, lines=b"PERFILE2\0secret-host")
    desk.post("runs", run_ids=[str(recording.run_id)], role="after")
    desk.post("runs", run_ids=[str(run.run_id), str(idle.run_id)])
    pin = desk.pin(run)
    desk.post("cause-rejections", cause="slow-dependency", true_cause=CAUSE, pins=[pin])
    assert as_("viewer").get(f"{desk.url}/regression-bundle").status_code == 403
    answer = desk.client.get(f"{desk.url}/regression-bundle")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        files = {artifact["run"]: artifact for artifact in manifest["artifacts"]}
        text = archive.read(files["run-1"]["file"])
        assert hashlib.sha256(text).hexdigest() == files["run-1"]["sha256"]
        assert text == b"# hostname : host\nLinux 6.1.0 (host) 11/22/26\ndb on host-1:80, secret-hosts\n"
        assert [file["file"] for file in files.values()].count(None) == 1, "a recording stays here"
    assert manifest["expected"] == {"causes": [CAUSE], "rejected": ["slow-dependency"]}
    assert [run["host"] for run in manifest["runs"]] == ["host-1", "host-1"]
    assert "secret-host" not in json.dumps(manifest) and "oncall" not in json.dumps(manifest)
    step = next(step for step in manifest["steps"] if step["step"] == f"{BOOK}/port-search")
    assert (step["run"], step["verdict"]) == ("run-1", "supports")
