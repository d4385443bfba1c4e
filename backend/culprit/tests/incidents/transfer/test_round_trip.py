"""An incident leaves one Culprit and arrives in another, where the rules reach the same findings."""

from __future__ import annotations

import io
import json
import zipfile
from uuid import UUID

import pytest
from culprit.incidents.transfer.bundle.document import DOCUMENT
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database, get_database
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident_origin import IncidentOrigin
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.tests.conftest import environment, make_people
from culprit.tests.support.carried import HOST, captured, changed, import_bundle, read_all
from culprit.tests.support.incidents import API
from sqlalchemy import func, select

pytestmark = pytest.mark.long(110)
WRITTEN = ("title", "symptom", "state", "severity", "window")


@pytest.fixture
def desk(db, people, as_):
    return captured(db, people["oncall"].actor, as_("oncall"))


def _export(desk, **how):
    answer = desk.client.get(f"{desk.url}/export", params=how)
    assert answer.status_code == 200, answer.text
    return answer.content


def _document(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read(DOCUMENT))


def _verdicts(reported):
    names = {host["id"]: host["name"] for host in reported["hosts"]}
    return {
        (step["key"], names[host["host_id"]]): (host["verdict"], host["by"], host["rule_verdict"])
        for step in reported["steps"]
        for host in step["hosts"]
    }


def _total(compared):
    return sum(compared[kind]["total"] for kind in ("rule", "step", "hypothesis"))


@pytest.fixture
def elsewhere(make_database, template, drop_database, redis_url, tmp_path):
    """Another home with another database; (its database, its people)."""
    url, folder = make_database(template), tmp_path / "elsewhere"
    folder.mkdir()
    get_database().close()
    with environment(url, redis_url, folder) as config:
        other = Database(config.sqlalchemy_url)
        yield other, make_people(other)
        other.close()
    drop_database(url)


def test_another_culprit_reads_the_same_verdicts_out_of_the_same_bytes(desk, request):
    desk.client.post(f"{desk.url}/comments", json={"text": "as last week"})
    before, data = desk.look(), _export(desk, comments=True)
    document = _document(data)
    for stored in ("192.0.2.1", "credential", "token"):
        assert stored not in json.dumps({**document, "playbooks": []}), stored
    digests = {artifact["sha256"] for artifact in document["artifacts"]}
    other, people = request.getfixturevalue("elsewhere")
    result = import_bundle(other, people["investigator"].actor, data)
    compared = read_all(other, result)
    assert compared["difference_count"] == 0 and compared["differences"] == []
    assert _total(compared) > 20 and compared["step"]["total"] == len(document["steps"])
    with other.sessions() as session:
        assert set(session.scalars(select(Artifact.sha256))) == digests
        for digest in digests:
            artifact_store().verify(digest)
        assert {(item.state, item.address, item.credential_id) for item in session.scalars(select(Host))} == {
            ("imported", "", None)
        }
        assert session.scalars(select(Host.name)).all() == [HOST]
    assert import_bundle(other, people["oncall"].actor, data) == result
    with other.sessions() as session:
        assert session.scalar(select(func.count()).select_from(IncidentOrigin)) == 1
        after = _read(session, people["viewer"].actor, result)
    assert {name: after[name] for name in WRITTEN} == {name: before[name] for name in WRITTEN}
    assert _verdicts(after) == _verdicts(before)
    assert [hypothesis["status"] for hypothesis in after["hypotheses"]] == [
        hypothesis["status"] for hypothesis in before["hypotheses"]
    ]
    assert [
        verification["result"]["outcome"] for fix in after["fixes"] for verification in fix["verifications"]
    ] == ["verified"]
    [message] = [host["person"] for step in after["steps"] for host in step["hosts"] if host["person"]]
    assert message["by"] is None and after["origin"]["authors"][message["id"]] == "oncall" and message["pins"]
    assert after["origin"]["number"] == before["number"] and not after["hosts"][0]["can_capture"]
    assert all(step["waived"]["reason"] == "not here" for step in after["steps"] if step["waived"])


def _read(session, actor, incident_id):
    from culprit.incidents.responses import incident
    from culprit.infra.models.incidents.incident import Incident

    return json.loads(
        incident.build_incident(session, actor, session.get_one(Incident, incident_id)).model_dump_json(
            by_alias=True
        )
    )


def test_the_same_culprit_takes_it_as_another_incident_whose_hosts_cannot_be_captured(desk, db, as_, people):
    data = _export(desk)
    client = as_("investigator")
    answer = client.post(f"{API}/incidents/import", files={"file": ("x.zip", data)})
    assert answer.status_code == 201, answer.text
    result = answer.json()
    assert result["new"] and result["id"] != desk.now["id"] and result["runs"] == len(desk.look()["runs"])
    again = client.post(f"{API}/incidents/import", files={"file": ("y.zip", data)}).json()
    assert again == {**result, "new": False}
    url = f"{API}/incidents/{result['id']}"
    reported = client.get(url).json()
    assert (
        reported["origin"]["compared"] is None and reported["origin"]["imported_by"]["name"] == "investigator"
    )
    step = {
        "version": reported["version"],
        "step": reported["steps"][0]["key"],
        "host_id": reported["hosts"][0]["id"],
    }
    assert client.post(f"{url}/step-runs", json=step).json()["key"] == "host.not_found"
    capture = {"host_ids": [reported["hosts"][0]["id"]], "plan": "triage"}
    assert client.post(f"{API}/captures", json=capture).json()["key"] == "host.not_found"
    assert client.post(f"{url}/comments", json={"text": "seen here, too"}).status_code == 201
    assert client.post(f"{url}/reports", json={}).status_code == 201
    with db.sessions() as session:
        waiting = list_pending_jobs(session)
    runs = [UUID(run["run_id"]) for run in reported["runs"]]
    assert {
        ("culprit.compare_import", UUID(result["id"])),
        *(("culprit.ingest_run", run) for run in runs),
    } <= {*waiting}
    assert read_all(db, UUID(result["id"]))["difference_count"] == 0
    assert {run["state"] for run in client.get(url).json()["runs"]} == {"done"}
    with db.sessions() as session:
        assert ("culprit.compare_import", UUID(result["id"])) not in list_pending_jobs(session)
        imported = session.scalars(select(Capture.state).where(Capture.source == "import")).all()
        assert set(imported) == {"done"}
    kinds = [item["kind"] for item in client.get(f"{url}/journal").json()]
    assert kinds[0] == "incident_imported" and "import_compared" in kinds
    assert desk.look()["version"] == desk.now["version"]
    _left_out(data, db, people)


def _left_out(data, db, people):
    """What was left out is named as why a verdict is another one."""

    def drop(document):
        for artifact in document["artifacts"]:
            if artifact["part"] == "samples":
                artifact["left_out"] = "gone"

    dropped = {
        f"artifacts/{artifact['sha256']}": None
        for artifact in _document(data)["artifacts"]
        if artifact["part"] == "samples"
    }
    compared = read_all(db, import_bundle(db, people["oncall"].actor, changed(data, drop, **dropped)))
    assert compared["difference_count"] > 0 and {item["why"] for item in compared["differences"]} == {
        "left_out"
    }
    with db.sessions() as session:
        here = session.scalars(select(Artifact).where(Artifact.removed_at.is_not(None))).all()
        assert {item.sha256 for item in here} == {"0" * 64}


def test_a_redacted_bundle_holds_no_name_and_reads_the_same(desk, request):
    data = _export(desk, redacted=True, comments=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            text = archive.read(name)
            if text[:2] == b"\x1f\x8b":
                import gzip

                text = gzip.decompress(text)
            for word in (b"shop-db7", b"corp.example", b"oncall", b"/var/log/shop"):
                assert word not in text, (name, word)
    document = _document(data)
    why = {artifact["part"]: artifact["left_out"] for artifact in document["artifacts"]}
    assert why == {"samples": None, "stdout": None, "raw": "no_text"}
    assert document["origin"]["redacted"] and document["hosts"][0]["name"] == "host-1.host-2"
    other, people = request.getfixturevalue("elsewhere")
    compared = read_all(other, import_bundle(other, people["oncall"].actor, data))
    assert compared["difference_count"] == 0, compared["differences"]
    with other.sessions() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == len(document["runs"])
        assert session.scalar(select(func.count()).select_from(Capture)) == len(document["captures"])
