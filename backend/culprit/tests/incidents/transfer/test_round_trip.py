"""An incident leaves one Culprit and arrives in another, where the rules say the same of the same bytes."""

from __future__ import annotations

import io
import json
import zipfile
from uuid import UUID

import pytest
from culprit.carried.form import DOCUMENT
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Database, database
from culprit.models import Artifact, Capture, Host, IncidentOrigin, Run
from culprit.tests.conftest import environment, make_people
from culprit.tests.support.carried import HOST, brought, captured, changed, read_all
from culprit.tests.support.incidents import API
from culprit.workflows.doorbells import doorbells
from sqlalchemy import func, select

pytestmark = pytest.mark.long(60)
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


def _verdicts(told):
    names = {one["id"]: one["name"] for one in told["hosts"]}
    return {
        (step["key"], names[one["host_id"]]): (one["verdict"], one["by"], one["rule_verdict"])
        for step in told["steps"]
        for one in step["hosts"]
    }


def _total(compared):
    return sum(compared[kind]["total"] for kind in ("rule", "step", "hypothesis"))


@pytest.fixture
def elsewhere(make_database, template, drop_database, redis_url, tmp_path):
    """Another home with another database; (its database, its people)."""
    url, folder = make_database(template), tmp_path / "elsewhere"
    folder.mkdir()
    database().close()
    with environment(url, redis_url, folder) as config:
        other = Database(config.sqlalchemy_url)
        yield other, make_people(other)
        other.close()
    drop_database(url)


def test_another_culprit_reads_the_same_verdicts_out_of_the_same_bytes(desk, request):
    desk.client.post(f"{desk.url}/comments", json={"text": "as last week"})
    before, data = desk.look(), _export(desk, comments=True)
    document = _document(data)
    for kept in ("192.0.2.1", "credential", "token"):
        assert kept not in json.dumps({**document, "playbooks": []}), kept
    digests = {one["sha256"] for one in document["artifacts"]}
    other, people = request.getfixturevalue("elsewhere")
    made = brought(other, people["investigator"].actor, data)
    compared = read_all(other, made)
    assert compared["unequal"] == 0 and compared["different"] == []
    assert _total(compared) > 20 and compared["step"]["total"] == len(document["steps"])
    with other.sessions() as session:
        assert set(session.scalars(select(Artifact.sha256))) == digests
        for one in digests:
            artifact_store().verify(one)
        assert {(one.state, one.address, one.credential_id) for one in session.scalars(select(Host))} == {
            ("imported", "", None)
        }
        assert session.scalars(select(Host.name)).all() == [HOST]
    assert brought(other, people["oncall"].actor, data) == made
    with other.sessions() as session:
        assert session.scalar(select(func.count()).select_from(IncidentOrigin)) == 1
        after = _read(session, people["viewer"].actor, made)
    assert {name: after[name] for name in WRITTEN} == {name: before[name] for name in WRITTEN}
    assert _verdicts(after) == _verdicts(before)
    assert [one["standing"] for one in after["hypotheses"]] == [
        one["standing"] for one in before["hypotheses"]
    ]
    assert [one["result"]["outcome"] for fix in after["fixes"] for one in fix["verifications"]] == [
        "verified"
    ]
    [said] = [one["person"] for step in after["steps"] for one in step["hosts"] if one["person"]]
    assert said["by"] is None and after["origin"]["said_by"][said["id"]] == "oncall" and said["pins"]
    assert after["origin"]["number"] == before["number"] and not after["hosts"][0]["enrolled"]
    assert all(one["waived"]["reason"] == "not here" for one in after["steps"] if one["waived"])


def _read(session, actor, incident_id):
    from culprit.incidents import read
    from culprit.models import Incident

    return json.loads(
        read.read(session, actor, session.get_one(Incident, incident_id)).model_dump_json(by_alias=True)
    )


def test_the_same_culprit_takes_it_as_another_incident_whose_hosts_cannot_be_captured(desk, db, as_, people):
    data = _export(desk)
    client = as_("investigator")
    answer = client.post(f"{API}/incidents/import", files={"file": ("x.zip", data)})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["new"] and made["id"] != desk.now["id"] and made["runs"] == len(desk.look()["runs"])
    again = client.post(f"{API}/incidents/import", files={"file": ("y.zip", data)}).json()
    assert again == {**made, "new": False}
    url = f"{API}/incidents/{made['id']}"
    told = client.get(url).json()
    assert told["origin"]["compared"] is None and told["origin"]["imported_by"]["name"] == "investigator"
    step = {"version": told["version"], "step": told["steps"][0]["key"], "host_id": told["hosts"][0]["id"]}
    assert client.post(f"{url}/step", json=step).json()["key"] == "host.not_found"
    capture = {"host_ids": [told["hosts"][0]["id"]], "plan": "triage"}
    assert client.post(f"{API}/captures", json=capture).json()["key"] == "host.not_found"
    assert client.post(f"{url}/comments", json={"text": "seen here, too"}).status_code == 201
    assert client.post(f"{url}/reports", json={}).status_code == 201
    with db.sessions() as session:
        waiting = doorbells(session)
    runs = [UUID(one["run_id"]) for one in told["runs"]]
    assert {
        ("culprit.compare_carried", UUID(made["id"])),
        *(("culprit.ingest_run", one) for one in runs),
    } <= {*waiting}
    assert read_all(db, UUID(made["id"]))["unequal"] == 0
    assert {one["state"] for one in client.get(url).json()["runs"]} == {"done"}
    with db.sessions() as session:
        assert ("culprit.compare_carried", UUID(made["id"])) not in doorbells(session)
        imported = session.scalars(select(Capture.state).where(Capture.source == "import")).all()
        assert set(imported) == {"done"}
    kinds = [one["kind"] for one in client.get(f"{url}/journal").json()]
    assert kinds[0] == "imported" and "import_compared" in kinds
    assert desk.look()["version"] == desk.now["version"]
    _left_out(data, db, people)


def _left_out(data, db, people):
    """What was left out is named as why a verdict is another one."""

    def drop(document):
        for one in document["artifacts"]:
            if one["part"] == "samples":
                one["left_out"] = "gone"

    dropped = {
        f"artifacts/{one['sha256']}": None for one in _document(data)["artifacts"] if one["part"] == "samples"
    }
    compared = read_all(db, brought(db, people["oncall"].actor, changed(data, drop, **dropped)))
    assert compared["unequal"] > 0 and {one["why"] for one in compared["different"]} == {"left_out"}
    with db.sessions() as session:
        here = session.scalars(select(Artifact).where(Artifact.removed_at.is_not(None))).all()
        assert {one.sha256 for one in here} == {"0" * 64}


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
    why = {one["part"]: one["left_out"] for one in document["artifacts"]}
    assert why == {"samples": None, "stdout": None, "raw": "no_text"}
    assert document["origin"]["redacted"] and document["hosts"][0]["name"] == "host-1"
    other, people = request.getfixturevalue("elsewhere")
    compared = read_all(other, brought(other, people["oncall"].actor, data))
    assert compared["unequal"] == 0, compared["different"]
    with other.sessions() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == len(document["runs"])
        assert session.scalar(select(func.count()).select_from(Capture)) == len(document["captures"])
