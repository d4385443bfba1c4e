"""Reports over HTTP: writing, preview, freezing; frozen versions do not change and contain no names."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from culprit.accounts import sealed_columns
from culprit.domain.messages import load_messages
from culprit.domain.rules import json_form
from culprit.domain.rules.finding import Citation, Finding, Number
from culprit.incidents.reports import pseudonym_map
from culprit.incidents.reports.content import collect
from culprit.incidents.reports.freeze import compute_digest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.analysis.finding import StoredFinding as FindingRow
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.infra.vault import Vault
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, RULE_OF, evaluated, opened
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError

HOST = "feed-prod-7"
SECRET = "hunter2"
LINES = (
    b"header of the table\n"
    b"feed-prod-7 10.20.30.40:9999 alice.jones@acme.example password=hunter2 28000\n"
    b"the line after </script><script>alert(1)</script>\n"
    b"far away and never cited: 10.99.99.99\n"
)
NAMES = (HOST, "10.20.30.40", "alice.jones", "acme.example", SECRET, "/home/alice", "Project Falcon")


@pytest.fixture
def host(db):
    return runs.make_host(db, HOST, {"role": "feed"})


@pytest.fixture
def desk(db, as_, host):
    """An incident with a number that cites a line, a pin, a note and a fix; each of them names a person."""
    run = evaluated(db, host, {"port-search": "matched"})
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
        finding = Finding(
            RULE_OF["time-wait"], "matched", "warn", "direct", (("peer", "10.20.30.40:9999"),),
            (Number("ports", 28000.0, "count", ">", 20000.0, (cited,), 300.0, 8),),
        )  # fmt: skip
        session.add(FindingRow(run_id=run.run_id, host_id=host, **json_form.finding_to_json(finding)))
    desk = opened(as_("oncall"), host, title=f"{HOST} is slow for Project Falcon")
    desk.post("runs", run_ids=[str(run.run_id)])
    ref = {"artifact_id": str(artifact.id), "lines": [2]}
    desk.post("pins", kind="line", view=f"/runs/{run.run_id}", ref=ref)
    desk.post("notes", note="alice.jones@acme.example looked at /home/alice/dump")
    desk.post("hypotheses", summary=f"{HOST} is at fault according to alice.jones@acme.example")
    desk.post("fixes", what="more ports", command=f"ssh {HOST} sysctl -w x=1", risk="none", rollback="x=0")
    return desk


class Writer:
    """A user who writes a report."""

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
    reported = writer.patch(
        summary="It was the ports.", impact="Two hours.", zone="Asia/Shanghai", language="zh",
        follow_ups=[{"what": "alert on it", "who": "bo"}], words=["Project Falcon", "Project Falcon"],
    ).json()  # fmt: skip
    assert (reported["summary"], reported["zone"], reported["version"]) == (
        "It was the ports.",
        "Asia/Shanghai",
        2,
    )
    assert reported["words"] == ["Project Falcon"] and reported["follow_ups"][0]["done"] is False
    assert writer.patch(preset="internal").json()["kinds"] == ["secret", "word"]
    assert writer.patch(kinds=["user", "host"]).json()["kinds"] == ["host", "user"]
    listed = writer.client.get(f"{API}/incidents/{desk.now['id']}/reports").json()
    assert [item["id"] for item in listed] == [writer.now["id"]]


def test_what_makes_no_sense_is_refused(writer):
    stale = writer.client.patch(writer.url, json={"version": 7, "summary": "x"})
    assert (stale.status_code, stale.json()["key"]) == (409, "report.changed")
    assert writer.patch(zone="Mars/Base").status_code == 422
    assert writer.patch(title=None).json()["key"] == "report.field_needed"
    early = writer.patch(detected_at="2026-01-02T00:00:00Z", mitigated_at="2026-01-01T00:00:00Z")
    assert early.json()["key"] == "report.mitigated_before_detected"


def test_a_preview_shows_what_is_replaced_and_stores_nothing(writer, db):
    writer.patch(words=["Project Falcon"], summary=f"{HOST} by alice.jones@acme.example")
    reported = writer.client.get(f"{writer.url}/preview").json()
    assert {"host", "email", "secret", "address", "word"} <= {item["kind"] for item in reported["replaced"]}
    assert any(item["before"].startswith(HOST) and HOST not in item["after"] for item in reported["changed"])
    assert reported["counts"]["host"] > 0 and HOST not in json.dumps(reported["content"])
    page = writer.client.get(f"{writer.url}/preview/page")
    assert "PREVIEW" in page.text and HOST not in page.text
    with unit_of_work(db.sessions) as session:
        assert session.scalars(select(ReportVersion)).all() == []


def test_no_name_leaves_in_any_form(writer):
    writer.patch(
        words=["Project Falcon"], summary=f"alice.jones on {HOST.upper()}", impact="see /home/alice/x"
    )
    result = writer.freeze()
    for form_ in ("html", "markdown", "json"):
        text = writer.client.get(f"{API}/report-versions/{result['id']}/file?form={form_}").text
        assert [name for name in NAMES if name.lower() in text.lower()] == []
    assert "10.99.99.99" not in json.dumps(result["content"])
    names = writer.client.get(f"{API}/report-versions/{result['id']}/names").json()
    assert names["host"][HOST] == "host-1" and SECRET in names["secret"]


def test_a_number_ends_in_its_lines(writer):
    content = writer.freeze()["content"]
    numbers = [
        number
        for item in (*content["chain"], *content["ruled_out"], {"steps": content["gates"]})
        for step in item["steps"]
        for answer in step["answers"]
        for number in answer["numbers"]
    ]
    [ports] = [number for number in numbers if number["measure"] == "ports"]
    sources = {source["id"]: source for source in content["sources"]}
    source = sources[ports["cites"][0]]
    assert [line["n"] for line in source["lines"]] == [1, 2, 3] and source["state"] == "intact"
    assert [line["cited"] for line in source["lines"]] == [False, True, False]
    assert source["sha256"] in {artifact["sha256"] for artifact in content["artifacts"]}
    assert "28000" in source["lines"][1]["text"]
    assert content["pins"][0]["cites"][0] in sources
    assert content["timeline"] and content["fixes"][0]["what"] == "more ports"


def test_build_answers_shows_question_instead_of_key():
    questions = {"a/b": "Is it busy?"}
    assert collect.build_answers("a/b: supports", questions, "en") == "Is it busy? supports"
    assert collect.build_answers("a/b: supports", questions, "zh") == "Is it busy? 支持"
    for other in ("a/c: supports", "a/b: x", "a/b"):
        assert collect.build_answers(other, questions, "en") == other


def test_omitted_kinds_are_kinds_of_journal_entries():
    assert {f"journal.{kind}" for kind in collect.OMITTED_KINDS} <= load_messages("en").keys()


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
    assert compute_digest(text) == first["sha256"]
    with pytest.raises(DBAPIError, match="does not change"), unit_of_work(db.sessions) as session:
        session.execute(update(ReportVersion).values(content="{}"))


def test_the_private_map_is_sealed_and_outlives_its_key(writer, db, config):
    writer.patch(words=["Project Falcon"])
    result = writer.freeze()
    with unit_of_work(db.sessions) as session:
        row = session.get_one(ReportVersion, UUID(result["id"]))
        ciphertext = row.ciphertext
        assert not any(name.encode() in ciphertext for name in NAMES)
        both = Vault({**config.key_ring(), 2: b"k" * 32}, 2)
        assert (
            sealed_columns.rewrap_secrets(session, both),
            sealed_columns.rewrap_secrets(session, both),
        ) == (1, 0)
        assert (
            row.ciphertext == ciphertext
            and pseudonym_map.open_names(row, Vault({2: b"k" * 32}, 2))["host"][HOST]
        )
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "report.rewrapped")).one()
        assert HOST not in json.dumps(entry.detail)
    lost = writer.client.get(f"{API}/report-versions/{result['id']}/names")
    assert (lost.status_code, lost.json()["key"]) == (409, "report.names_unreadable")
    assert writer.client.get(f"{writer.url}/preview").json()["key"] == "report.names_unreadable"
    assert writer.client.get(f"{API}/report-versions/{result['id']}/file").status_code == 200


def test_pseudonyms_stay_over_the_versions(writer):
    first = writer.freeze()
    writer.patch(summary="10.0.0.77 and 10.20.30.40")
    second = writer.freeze()
    names = [
        writer.client.get(f"{API}/report-versions/{first['id']}/names").json()["address"]
        for first in (first, second)
    ]
    assert names[0].items() <= names[1].items() and "10.0.0.77" in names[1]


def test_a_report_is_in_its_language(writer):
    writer.patch(language="zh", zone="Asia/Shanghai")
    result = writer.freeze()
    page = writer.client.get(f"{API}/report-versions/{result['id']}/file").text
    assert "证据链" in page and "CST" in page and 'lang="zh-CN"' in page


def test_report_marks_lost_artifact(writer, db):
    with unit_of_work(db.sessions) as session:
        sha256 = session.scalars(select(Artifact.sha256).where(Artifact.part == "table")).one()
    artifact_store().delete(sha256)
    states = {source["state"] for source in writer.freeze()["content"]["sources"]}
    assert "gone" in states


def test_report_hides_versions_outside_label_scope(writer, db, as_, desk):
    other = runs.make_host(db, "ads-1", {"role": "ads"})
    desk.post("hosts", hosts=[{"host_id": str(other)}])
    result = writer.freeze()
    scoped = as_("scoped")
    assert scoped.get(writer.url).json()["versions"] == []
    assert scoped.get(f"{API}/report-versions/{result['id']}").status_code == 404


def test_report_includes_events_without_names(writer, as_, host):
    what = f"Project Falcon 4f2a to {HOST} by alice.jones@acme.example"
    reported = {
        "what": what,
        "kind": "deploy",
        "hosts": [HOST],
        "detail": "from 10.20.30.40\nwith password=hunter2",
    }
    assert as_("investigator").post(f"{API}/reported-events", json=reported).status_code == 201
    elsewhere = {"what": "long ago", "hosts": [HOST], "at": "2020-01-01T00:00:00Z"}
    assert as_("investigator").post(f"{API}/reported-events", json=elsewhere).status_code == 201
    writer.patch(words=["Project Falcon"])
    result = writer.freeze()
    [event] = [item for item in result["content"]["timeline"] if item["text"].startswith("deploy: ")]
    assert event["text"].endswith("4f2a to host-1 by user-1@domain-1") or "host-1" in event["text"]
    assert event["by"] and event["note"]
    for form_ in ("html", "json", "markdown"):
        text = writer.client.get(f"{API}/report-versions/{result['id']}/file?form={form_}").text
        assert [name for name in NAMES if name in text] == []
        assert "long ago" not in text


def test_no_name_is_hidden_in_a_flame_graph(as_, session, desk):
    folded = f"web;main;parse_{HOST} 60000\nweb;/home/alice/lib.so;render 30000\nweb;main;at 10.20.30.40 1\n"
    result = as_("investigator").post(f"{API}/imports", files={"file": ("f", folded.encode())}).json()
    run_id = UUID(result["runs"][0]["id"])
    ingest_run(run_id)
    profile = session.scalars(select(Profile).where(Profile.run_id == run_id)).one()
    assert build_profile(profile.id) == "ready"
    ref = {"profile_id": str(profile.id), "frames": ["web", "main", f"parse_{HOST}"]}
    desk.post("pins", kind="frame", view="/", ref=ref)
    writer = Writer(desk.client, desk.now["id"])
    writer.patch(words=["Project Falcon"])
    result = writer.freeze()
    [tree] = result["content"]["trees"]
    assert "parse_host-1" in tree["tree"]["name"] and sum(tree["tree"]["own"]) == 90001
    for form_ in ("html", "json", "markdown"):
        text = writer.client.get(f"{API}/report-versions/{result['id']}/file?form={form_}").text
        assert [name for name in NAMES if name in text] == []
    writer.patch(kinds=["symbol"])
    names = writer.freeze()["content"]["trees"][0]["tree"]["name"]
    assert "render" not in names and any(name.startswith("function-") for name in names)
