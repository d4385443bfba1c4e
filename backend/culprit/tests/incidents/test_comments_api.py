"""Comments on incidents: create, edit, withdraw, notify; always plain text."""

from __future__ import annotations

from uuid import uuid4

import pytest
from culprit.domain.notifications.message import NotificationContent
from culprit.incidents.comments import service
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.incidents.incident_comment import IncidentComment
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.infra.models.notifications.notification import Notification
from culprit.notifications.message_bodies import build_mail, build_slack
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, opened
from sqlalchemy import select, update


@pytest.fixture
def host(db: Database):
    return runs.make_host(db, "web1", {"role": "feed"})


@pytest.fixture
def desk(as_, host):
    return opened(as_("investigator"), host)


def write(client, desk, text: str, **about: str):
    return client.post(f"{desk.url}/comments", json={"text": text, **about})


def listed(client, desk) -> list[dict]:
    return client.get(f"{desk.url}/comments").json()["items"]


def test_comment_does_not_block_concurrent_note(as_, desk) -> None:
    version = desk.look()["version"]
    first = write(as_("oncall"), desk, "  is it the disk?\r\n").json()
    assert (first["text"], first["about"], first["by"]["name"], first["can_edit"]) == (
        "is it the disk?",
        "incident",
        "oncall",
        True,
    )
    # A comment does not change the version: a user who read the incident before can still add a note.
    answer = as_("investigator").post(f"{desk.url}/notes", json={"version": version, "note": "n"})
    assert answer.status_code == 201, answer.text
    write(as_("investigator"), desk, "no")
    assert [item["text"] for item in listed(as_("viewer"), desk)] == ["no", "is it the disk?"]
    events = as_("viewer").get(f"{desk.url}/updates", params={"once": "true"}).text
    assert f'"version": {desk.look()["version"]}' in events
    kinds = [item["kind"] for item in as_("viewer").get(f"{desk.url}/journal").json()]
    assert kinds.count("comment_added") == 2


def test_who_may_what(as_, desk) -> None:
    assert write(as_("viewer"), desk, "x").status_code == 403
    own = write(as_("investigator"), desk, "mine").json()
    path = f"{desk.url}/comments/{own['id']}"
    assert as_("oncall").patch(path, json={"text": "not mine"}).json()["key"] == "comment.not_yours"
    seen = listed(as_("oncall"), desk)[0]
    assert (seen["can_edit"], seen["can_withdraw"]) == (False, True)
    assert listed(as_("viewer"), desk)[0]["can_withdraw"] is False
    other = write(as_("oncall"), desk, "theirs").json()
    assert (
        as_("investigator").post(f"{desk.url}/comments/{other['id']}/withdraw").json()["key"]
        == "comment.not_yours"
    )
    assert as_("oncall").post(f"{path}/withdraw").status_code == 200
    assert as_("scoped").get(f"{desk.url}/comments").status_code == 200
    for body in (
        {"text": ""},
        {"text": " \n "},
        {"text": "x" * 4001},
        {"text": "\x00"},
        {"text": "x", "html": "y"},
    ):
        assert as_("oncall").post(f"{desk.url}/comments", json=body).status_code == 422
    assert as_("oncall").patch(f"{desk.url}/comments/{uuid4()}", json={"text": "x"}).status_code == 404


def test_another_incident_is_another_place(as_, db: Database, desk) -> None:
    elsewhere = opened(as_("oncall"), runs.make_host(db, "ads1", {"role": "ads"}))
    hidden = write(as_("oncall"), elsewhere, "secret").json()
    assert as_("scoped").get(f"{elsewhere.url}/comments").status_code == 404
    assert write(as_("scoped"), elsewhere, "x").status_code == 404
    assert as_("oncall").patch(f"{desk.url}/comments/{hidden['id']}", json={"text": "x"}).status_code == 404


def test_edited_comment_keeps_earlier_text_until_withdrawn(as_, desk, db: Database) -> None:
    client = as_("investigator")
    item = write(client, desk, "the password is hunter2").json()
    path = f"{desk.url}/comments/{item['id']}"
    assert client.patch(path, json={"text": "the password is hunter2"}).json()["earlier"] == []
    mended = client.patch(path, json={"text": "never mind"}).json()
    assert mended["text"] == "never mind" and mended["edited_at"]
    assert [each["text"] for each in mended["earlier"]] == ["the password is hunter2"]
    gone = client.post(f"{path}/withdraw").json()
    assert (gone["text"], gone["earlier"], gone["withdrawn_by"]["name"]) == ("", [], "investigator")
    assert client.post(f"{path}/withdraw").status_code == 200
    assert client.patch(path, json={"text": "again"}).json()["key"] == "comment.not_yours"
    with db.sessions() as session:
        stored_session = [str(row.params) + row.note for row in session.scalars(select(JournalEntry))]
        stored_session += [str(row.detail) for row in session.scalars(select(AuditEntry))]
        stored_session += [row.text + str(row.earlier) for row in session.scalars(select(IncidentComment))]
        assert "hunter2" not in str(stored_session), "what was taken back is nowhere"


def test_about_a_step_a_hypothesis_or_a_pin(as_, desk, db: Database, host) -> None:
    client = as_("investigator")
    assert (
        write(client, desk, "x", about="step", ref=f"{BOOK}/time-wait").json()["ref"] == f"{BOOK}/time-wait"
    )
    assert write(client, desk, "x", about="hypothesis", ref=f"{BOOK}/search").status_code == 201
    for about, ref in (
        ("step", f"{BOOK}/nothing"),
        ("hypothesis", "own/9"),
        ("pin", str(uuid4())),
        ("incident", "x"),
    ):
        answer = write(client, desk, "x", about=about, ref=ref)
        assert answer.status_code == 422, answer.text
        assert answer.json()["key"] in {"comment.about_nothing", "incident.no_step"}


def test_bounds(as_, desk, monkeypatch) -> None:
    client = as_("investigator")
    monkeypatch.setattr(service, "MAX_PER_MINUTE", 3)
    item = [write(client, desk, f"n{n}").json() for n in range(3)][0]
    assert write(client, desk, "n4").json()["key"] == "comment.too_often"
    monkeypatch.setattr(service, "MAX_PER_MINUTE", 100)
    monkeypatch.setattr(service, "MAX_COMMENTS", 3)
    assert write(client, desk, "n4").json()["key"] == "comment.too_many"
    monkeypatch.setattr(service, "MAX_EARLIER", 1)
    path = f"{desk.url}/comments/{item['id']}"
    assert client.patch(path, json={"text": "once"}).status_code == 200
    assert client.patch(path, json={"text": "twice"}).json()["key"] == "comment.too_many_edits"


def test_repeated_comment_request_is_stored_once(as_, desk) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    ids = {
        as_("oncall").post(f"{desk.url}/comments", json={"text": "x"}, headers=headers).json()["id"]
        for _ in "12"
    }
    assert len(ids) == 1 == len(listed(as_("oncall"), desk))


def test_mentioned_user_is_notified_once_through_own_channel(as_, desk, db: Database, people) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.1/32", port_from=1, port_to=65535, note=""))
    body = {
        "name": "pager of oncall",
        "kind": "slack",
        "url": "http://127.0.0.1:9/x",
        "user_id": str(people["oncall"].id),
    }
    result = as_("admin").post(f"{API}/channels", json=body)
    assert result.status_code == 201 and result.json()["user_id"] == str(people["oncall"].id)
    client = as_("investigator")
    item = write(client, desk, "@oncall and @viewer: see <!channel> @scoped @investigator @missing").json()
    assert {each["name"]: each["notified"] for each in item["mentions"]} == {
        "oncall": True, "viewer": False, "scoped": False, "investigator": False,
    }  # fmt: skip
    client.patch(f"{desk.url}/comments/{item['id']}", json={"text": "@oncall once more @admin"})
    with db.sessions() as session:
        [notice] = session.scalars(select(Notification)).all()
        assert notice.about == "mention"
        message = NotificationContent.from_stored(notice.message)
    reported = build_slack(message, "en").decode()
    assert (
        "investigator mentioned you in incident #1: feed is slow" in reported and "<!channel>" not in reported
    )
    letter = build_mail("1", message, "zh", "a@b.c", ("d@e.f",))
    assert "investigator 在故障 #1 中提到了你" in str(letter["Subject"])
    assert as_("oncall").get(f"{API}/notifications").json()["items"][0]["about"] == "mention"


def test_mentions_exclude_users_without_access(as_, db: Database) -> None:
    elsewhere = opened(as_("investigator"), runs.make_host(db, "ads1", {"role": "ads"}))
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(UserAccount).where(UserAccount.name == "viewer").values(label_scope={"role": ["feed"]})
        )
    item = write(as_("investigator"), elsewhere, "@viewer @scoped @oncall").json()
    assert [each["name"] for each in item["mentions"]] == ["oncall"]
    names = [item["name"] for item in as_("investigator").get(f"{elsewhere.url}/people").json()]
    assert "scoped" not in names and "viewer" not in names and "admin" in names


def test_report_includes_comments_only_when_selected(as_, desk) -> None:
    client = as_("investigator")
    write(client, desk, "ask 10.1.2.3 about it")
    gone = write(client, desk, "withdrawn words").json()
    client.post(f"{desk.url}/comments/{gone['id']}/withdraw")
    report = client.post(f"{desk.url}/reports", json={}).json()
    assert report["comments"] is False
    path = f"{API}/reports/{report['id']}"
    assert "about it" not in client.get(f"{path}/preview").text
    changed = client.patch(path, json={"version": report["version"], "comments": True}).json()
    assert changed["comments"] is True
    content = str(client.get(f"{path}/preview").json()["content"])
    assert "about it" in content and "10.1.2.3" not in content, "redacted as everything else"
    assert "withdrawn words" not in content


def test_command_line_writes_and_lists_comments(app, as_, desk, people, monkeypatch, capsys) -> None:
    """In this process, over the application itself."""
    from culprit.cli import connection
    from culprit.cli.app import main

    monkeypatch.setattr(connection.httpx2, "Client", lambda **_: as_("investigator"))
    monkeypatch.setenv("CULPRIT_URL", "http://testserver")
    assert main(["incident", "comment", "1", "look @viewer \x1b[31m", "--step", f"{BOOK}/time-wait"]) == 0
    assert main(["incident", "comment", "1", "x", "--step", "a/b", "--pin", "c"]) == 2
    capsys.readouterr()
    assert main(["incident", "comments", "1"]) == 0
    reported = capsys.readouterr()
    assert (
        f"investigator on {BOOK}/time-wait:" in reported.out
        and "look @viewer" in reported.out
        and "\x1b" not in reported.out
    )
    assert "viewer has no channel" in reported.err
