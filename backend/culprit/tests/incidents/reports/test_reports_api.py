"""Reports over HTTP: written, looked at, frozen; what was frozen stays, and names nobody."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from culprit.auth import sealed
from culprit.core.rules import form
from culprit.core.rules.contract import Citation, Finding, Number
from culprit.infra.artifacts import artifact_store
from culprit.infra.secrets import Vault
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, AuditEntry, Profile, ReportVersion, RunCollector
from culprit.models import Finding as FindingRow
from culprit.reports import gather, private_map
from culprit.reports.freeze import digest
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, RULE_OF, evaluated, opened
from culprit.workflows.build_profile import build_profile
from culprit.workflows.ingest_run import ingest_run
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError

HOST = "feed-prod-7"
SECRET = "hunter2"
LINES = (
    b"header of the table\n"
    b"feed-prod-7 10.20.30.40:9999 alice.jones@acme.example password=hunter2 28000\n"
    b"the line after </script><script>alert(1)</script>\n"
    b"far away and cited by nobody: 10.99.99.99\n"
)
NAMES = (HOST, "10.20.30.40", "alice.jones", "acme.example", SECRET, "/home/alice", "Project Falcon")


@pytest.fixture
def host(db):
    return runs.make_host(db, HOST, {"role": "feed"})


@pytest.fixture
def desk(db, as_, host):
    """An incident with a number that cites a line, a pin, a note and a fix; every one of them names somebody."""
    run = evaluated(db, host, {"port-search": "fired"})
    stored = artifact_store().put([LINES], 10_000)
    with unit_of_work(db.sessions) as session:
        collector = session.scalars(select(RunCollector.id).where(RunCollector.run_id == run.run_id)).first()
        artifact = Artifact(
            run_id=run.run_id, run_collector_id=collector, part="table", sha256=stored.sha256, size=len(LINES),
            stored_size=len(LINES),
        )  # fmt: skip
        session.add(artifact)
        session.flush()
        cited = Citation(str(run.run_id), "ss", str(artifact.id), "table", (2,))
        one = Finding(
            RULE_OF["time-wait"], "fired", "warn", "direct", (("peer", "10.20.30.40:9999"),),
            (Number("ports", 28000.0, "count", ">", 20000.0, (cited,), 300.0, 8),),
        )  # fmt: skip
        session.add(FindingRow(run_id=run.run_id, host_id=host, **form.finding(one)))
    desk = opened(as_("oncall"), host, title=f"{HOST} is slow for Project Falcon")
    desk.post("runs", run_ids=[str(run.run_id)])
    ref = {"artifact_id": str(artifact.id), "lines": [2]}
    desk.post("pins", kind="line", view=f"/runs/{run.run_id}", ref=ref)
    desk.post("notes", note="alice.jones@acme.example looked at /home/alice/dump")
    desk.post("hypotheses", says=f"{HOST} is at fault, says alice.jones@acme.example")
    desk.post("fixes", what="more ports", command=f"ssh {HOST} sysctl -w x=1", risk="none", way_back="x=0")
    return desk


class Writer:
    """Somebody who writes one report."""

    def __init__(self, client: TestClient, incident: str, **body: object) -> None:
        self.client = client
        self.now = client.post(f"{API}/incidents/{incident}/reports", json=body).json()

    @property
    def url(self) -> str:
        return f"{API}/reports/{self.now['id']}"

    def patch(self, **body):
        answer = self.client.patch(self.url, json={"version": self.now["version"], **body})
        if answer.status_code == 200:
            self.now = answer.json()
        return answer

    def freeze(self):
        answer = self.client.post(f"{self.url}/versions", json={"version": self.now["version"]})
        assert answer.status_code == 201, answer.text
        return answer.json()


@pytest.fixture
def writer(desk):
    return Writer(desk.client, desk.now["id"])


def test_a_draft_is_written_on(writer, desk):
    assert (writer.now["title"], writer.now["preset"], writer.now["version"]) == (
        desk.now["title"],
        "customer",
        1,
    )
    assert writer.now["detected_at"] and "host" in writer.now["kinds"] and "symbol" not in writer.now["kinds"]
    told = writer.patch(
        summary="It was the ports.", impact="Two hours.", zone="Asia/Shanghai", language="zh",
        follow_ups=[{"what": "alert on it", "who": "bo"}], words=["Project Falcon", "Project Falcon"],
    ).json()  # fmt: skip
    assert (told["summary"], told["zone"], told["version"]) == ("It was the ports.", "Asia/Shanghai", 2)
    assert told["words"] == ["Project Falcon"] and told["follow_ups"][0]["done"] is False
    assert writer.patch(preset="internal").json()["kinds"] == ["secret", "word"]
    assert writer.patch(kinds=["user", "host"]).json()["kinds"] == ["host", "user"]
    listed = writer.client.get(f"{API}/incidents/{desk.now['id']}/reports").json()
    assert [one["id"] for one in listed] == [writer.now["id"]]


def test_what_makes_no_sense_is_refused(writer):
    stale = writer.client.patch(writer.url, json={"version": 7, "summary": "x"})
    assert (stale.status_code, stale.json()["key"]) == (409, "report.changed")
    assert writer.patch(zone="Mars/Base").status_code == 422
    assert writer.patch(title=None).json()["key"] == "report.field_needed"
    early = writer.patch(detected_at="2026-01-02T00:00:00Z", mitigated_at="2026-01-01T00:00:00Z")
    assert early.json()["key"] == "report.mitigated_before_detected"


def test_a_preview_shows_what_is_replaced_and_stores_nothing(writer, db):
    writer.patch(words=["Project Falcon"], summary=f"{HOST} by alice.jones@acme.example")
    told = writer.client.get(f"{writer.url}/preview").json()
    assert {"host", "email", "secret", "address", "word"} <= {one["kind"] for one in told["replaced"]}
    assert any(one["before"].startswith(HOST) and HOST not in one["after"] for one in told["changed"])
    assert told["counts"]["host"] > 0 and HOST not in json.dumps(told["content"])
    page = writer.client.get(f"{writer.url}/preview/page")
    assert "PREVIEW" in page.text and HOST not in page.text
    with unit_of_work(db.sessions) as session:
        assert session.scalars(select(ReportVersion)).all() == []


def test_no_name_leaves_in_any_form(writer):
    writer.patch(
        words=["Project Falcon"], summary=f"alice.jones on {HOST.upper()}", impact="see /home/alice/x"
    )
    made = writer.freeze()
    for form_ in ("html", "markdown", "json"):
        text = writer.client.get(f"{API}/report-versions/{made['id']}/file?form={form_}").text
        assert [name for name in NAMES if name.lower() in text.lower()] == []
    assert "10.99.99.99" not in json.dumps(made["content"])
    names = writer.client.get(f"{API}/report-versions/{made['id']}/names").json()
    assert names["host"][HOST] == "host-1" and SECRET in names["secret"]


def test_a_number_ends_in_its_lines(writer):
    content = writer.freeze()["content"]
    numbers = [
        number
        for one in (*content["chain"], *content["ruled_out"], {"steps": content["gates"]})
        for step in one["steps"]
        for answer in step["answers"]
        for number in answer["numbers"]
    ]
    [ports] = [one for one in numbers if one["measure"] == "ports"]
    sources = {one["id"]: one for one in content["sources"]}
    source = sources[ports["cites"][0]]
    assert [one["n"] for one in source["lines"]] == [1, 2, 3] and source["state"] == "intact"
    assert [one["cited"] for one in source["lines"]] == [False, True, False]
    assert source["sha256"] in {one["sha256"] for one in content["artifacts"]}
    assert "28000" in source["lines"][1]["text"]
    assert content["pins"][0]["cites"][0] in sources
    assert content["timeline"] and content["fixes"][0]["what"] == "more ports"


def test_a_step_is_told_by_its_question_and_not_by_its_key():
    asks = {"a/b": "Is it busy?"}
    assert gather.answered("a/b: supports", asks, "en") == "Is it busy? supports"
    assert gather.answered("a/b: supports", asks, "zh") == "Is it busy? 支持"
    for other in ("a/c: supports", "a/b: x", "a/b"):
        assert gather.answered(other, asks, "en") == other


def test_what_was_frozen_stays(writer, desk, db):
    first = writer.freeze()
    assert (first["number"], first["intact"]) == (1, True)
    writer.client.get(writer.url)
    writer.patch(summary="another one")
    desk.post("notes", note="later")
    second = writer.freeze()
    assert second["number"] == 2 and second["sha256"] != first["sha256"]
    again = writer.client.get(f"{API}/report-versions/{first['id']}").json()
    assert again["content"] == first["content"]
    text = writer.client.get(f"{API}/report-versions/{first['id']}/file?form=json").text
    assert digest(text) == first["sha256"]
    with pytest.raises(DBAPIError, match="does not change"), unit_of_work(db.sessions) as session:
        session.execute(update(ReportVersion).values(content="{}"))


def test_the_private_map_is_sealed_and_outlives_its_key(writer, db, config):
    writer.patch(words=["Project Falcon"])
    made = writer.freeze()
    with unit_of_work(db.sessions) as session:
        row = session.get_one(ReportVersion, UUID(made["id"]))
        kept = row.ciphertext
        assert not any(name.encode() in kept for name in NAMES)
        both = Vault({**config.key_ring(), 2: b"k" * 32}, 2)
        assert (sealed.rewrap_all(session, both), sealed.rewrap_all(session, both)) == (1, 0)
        assert row.ciphertext == kept and private_map.opened(row, Vault({2: b"k" * 32}, 2))["host"][HOST]
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "report.rewrapped")).one()
        assert HOST not in json.dumps(entry.detail)
    lost = writer.client.get(f"{API}/report-versions/{made['id']}/names")
    assert (lost.status_code, lost.json()["key"]) == (409, "report.names_unreadable")
    assert writer.client.get(f"{writer.url}/preview").json()["key"] == "report.names_unreadable"
    assert writer.client.get(f"{API}/report-versions/{made['id']}/file").status_code == 200


def test_pseudonyms_stay_over_the_versions(writer):
    first = writer.freeze()
    writer.patch(summary="10.0.0.77 and 10.20.30.40")
    second = writer.freeze()
    names = [
        writer.client.get(f"{API}/report-versions/{one['id']}/names").json()["address"]
        for one in (first, second)
    ]
    assert names[0].items() <= names[1].items() and "10.0.0.77" in names[1]


def test_a_report_is_in_its_language(writer):
    writer.patch(language="zh", zone="Asia/Shanghai")
    made = writer.freeze()
    page = writer.client.get(f"{API}/report-versions/{made['id']}/file").text
    assert "证据链" in page and "CST" in page and 'lang="zh-CN"' in page


def test_a_lost_artifact_is_said_to_be_lost(writer, db):
    with unit_of_work(db.sessions) as session:
        sha256 = session.scalars(select(Artifact.sha256).where(Artifact.part == "table")).one()
    artifact_store().delete(sha256)
    states = {one["state"] for one in writer.freeze()["content"]["sources"]}
    assert "gone" in states


def test_a_scope_hides_what_tells_of_other_hosts(writer, db, as_, desk):
    other = runs.make_host(db, "ads-1", {"role": "ads"})
    desk.post("hosts", hosts=[{"host_id": str(other)}])
    made = writer.freeze()
    scoped = as_("scoped")
    assert scoped.get(writer.url).json()["versions"] == []
    assert scoped.get(f"{API}/report-versions/{made['id']}").status_code == 404


def test_what_was_told_of_its_hosts_is_in_it_without_names(writer, as_, host):
    what = f"Project Falcon 4f2a to {HOST} by alice.jones@acme.example"
    told = {
        "what": what,
        "kind": "deploy",
        "hosts": [HOST],
        "detail": "from 10.20.30.40\nwith password=hunter2",
    }
    assert as_("investigator").post(f"{API}/events", json=told).status_code == 201
    elsewhere = {"what": "long ago", "hosts": [HOST], "at": "2020-01-01T00:00:00Z"}
    assert as_("investigator").post(f"{API}/events", json=elsewhere).status_code == 201
    writer.patch(words=["Project Falcon"])
    made = writer.freeze()
    [event] = [one for one in made["content"]["timeline"] if one["text"].startswith("deploy: ")]
    assert event["text"].endswith("4f2a to host-1 by user-1@domain-1") or "host-1" in event["text"]
    assert event["by"] and event["note"]
    for form_ in ("html", "json", "markdown"):
        text = writer.client.get(f"{API}/report-versions/{made['id']}/file?form={form_}").text
        assert [name for name in NAMES if name in text] == []
        assert "long ago" not in text


def test_no_name_is_hidden_in_a_flame_graph(as_, session, desk):
    folded = f"web;main;parse_{HOST} 60000\nweb;/home/alice/lib.so;render 30000\nweb;main;at 10.20.30.40 1\n"
    made = as_("investigator").post(f"{API}/imports", files={"file": ("f", folded.encode())}).json()
    run_id = UUID(made["runs"][0]["id"])
    ingest_run(run_id)
    profile = session.scalars(select(Profile).where(Profile.run_id == run_id)).one()
    assert build_profile(profile.id) == "ready"
    ref = {"profile_id": str(profile.id), "frames": ["web", "main", f"parse_{HOST}"]}
    desk.post("pins", kind="frame", view="/", ref=ref)
    writer = Writer(desk.client, desk.now["id"])
    writer.patch(words=["Project Falcon"])
    made = writer.freeze()
    [tree] = made["content"]["trees"]
    assert "parse_host-1" in tree["tree"]["name"] and sum(tree["tree"]["own"]) == 90001
    for form_ in ("html", "json", "markdown"):
        text = writer.client.get(f"{API}/report-versions/{made['id']}/file?form={form_}").text
        assert [name for name in NAMES if name in text] == []
    writer.patch(kinds=["symbol"])
    names = writer.freeze()["content"]["trees"][0]["tree"]["name"]
    assert "render" not in names and any(name.startswith("function-") for name in names)
