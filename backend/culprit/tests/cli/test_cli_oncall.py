"""Alerts, messages, the kill switch and reports by the command line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import NetworkRule
from culprit.tests.support.command_line import REFUSED, USAGE, Cli
from culprit.tests.support.runs import make_host

pytestmark = pytest.mark.long(60)


def send(cli: Cli, made: dict[str, Any], **alert: Any) -> dict[str, Any]:
    """An alert as a monitoring system sends it; what became of it."""
    answer = httpx2.post(
        cli.environment["CULPRIT_URL"] + made["path"],
        json={"nonce": time.monotonic_ns(), **alert},
        headers={"Authorization": f"Bearer {made['secret']}"},
        timeout=30.0,
    )
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def test_triggers_alerts_and_channels(cli: Cli, db: Database) -> None:
    for n in (1, 2, 3):
        make_host(db, f"feed-{n}", {"role": "feed"})
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    hook = "http://127.0.0.1:9/told?key=canary"
    shown = cli("channel", "new", "pager", "--url", hook)
    assert "127.0.0.1:9" in shown and "secret (shown once)" in shown and "canary" not in shown
    cli("channel", "new", "post", "--kind", "email", status=USAGE)
    cli("channel", "new", "away", "--url", "https://10.9.9.9/x", status=REFUSED)
    assert "pager" in cli("channel", "list") and "canary" not in cli("channel", "list", "--json")
    assert "on its way" in cli("channel", "test", "pager")
    assert "pager" in cli("channel", "notices", "--state", "queued")
    cli("channel", "test", "nobody", status=REFUSED)
    assert "0 are tried again; 1 are on their way" in cli("channel", "again", "pager")
    assert cli.json("channel", "annotations", "--state", "dead") == []

    shown = cli(
        "trigger", "new", "hmac", "--kind", "pagerduty", "--proof", "hmac", CULPRIT_TRIGGER_SECRET="s" * 20
    )
    assert "secret (shown once)" in shown and "curl" not in shown
    cli("trigger", "new", "hmac", "--kind", "generic", status=REFUSED)
    cli("trigger", "new", "x", "--channel", "nobody", status=REFUSED)
    made = cli.json("trigger", "new", "mine", "--channel", "pager", "--peers", "2")
    assert f"Bearer {made['secret']}" not in cli("trigger", "list", "--json")
    told = cli("trigger", "test", "mine", "--label", "host=feed-1")
    assert "fired: feed-1" in told and "feed-2" in told and "feed-3" in told
    assert "unmatched" in cli("trigger", "test", "mine", "--label", "host=nobody")
    cli("trigger", "test", "mine", "--label", "nonsense", status=USAGE)
    assert cli.json("trigger", "alerts") == []
    assert send(cli, made, title="p99 is 2.3 s", host="feed-1")["fired"] == 1
    assert send(cli, made, title="p99 is 2.3 s", host="feed-9")["unmatched"] == 1
    listed = cli("trigger", "alerts")
    assert "p99 is 2.3 s" in listed and "feed-9" in listed, (
        "what matches no host stays visible, with the reason"
    )
    [fired] = cli.json("trigger", "alerts", "--state", "fired")
    assert fired["host"]["name"] == "feed-1" and fired["incident_number"]
    assert "1 fired" in cli("trigger", "list") and "1 unmatched" in cli("trigger", "list")
    cli("trigger", "remove", "mine")
    cli("trigger", "test", "mine", status=REFUSED)


def test_the_kill_switch(cli: Cli, db: Database) -> None:
    make_host(db, "feed-1", {"role": "feed"})
    made = cli.json("trigger", "new", "mine")
    cli("kill-switch", "on", "--host", "feed-1", "--label", "role=feed", status=USAGE)
    cli("kill-switch", "on", "--host", "nobody", status=REFUSED)
    assert "feed-1: nothing starts" in cli("kill-switch", "on", "--host", "feed-1", "--reason", "new disks")
    assert "role=feed: nothing starts" in cli("kill-switch", "on", "--label", "role=feed", "--keep-running")
    assert "everywhere: nothing starts" in cli("kill-switch", "on")
    assert "new disks" in cli("kill-switch", "list")
    held = cli.json("kill-switch", "list")
    assert {one["kind"] for one in held} == {"host", "label", "everywhere"}
    assert send(cli, made, title="slow", host="feed-1")["refused"] == 1
    [alert] = cli.json("trigger", "alerts")
    assert alert["state"] == "refused" and alert["reason"]
    assert "lifted" in cli("kill-switch", "off", next(one["id"] for one in held if one["kind"] == "host"))
    assert cli("kill-switch", "off", "all").count("lifted") == 2
    assert cli.json("kill-switch", "list") == []
    assert send(cli, made, title="slow again", host="feed-1")["fired"] == 1


def test_reports(cli: Cli, db: Database, people, tmp_path: Path) -> None:
    make_host(db, "feed-1", {"role": "feed"})
    incident = cli.json("incident", "new", "feed-1 is slow", "--host", "feed-1")
    number = str(incident["number"])
    made = cli.json("report", "new", number, "--language", "zh", "--zone", "Asia/Shanghai")
    assert (made["title"], made["language"], made["preset"]) == ("feed-1 is slow", "zh", "customer")
    cli("report", "new", number, "--zone", "Mars/Base", status=REFUSED)
    cli("report", "show", "nonsense", status=USAGE)
    cli("report", "file", made["id"], status=REFUSED)
    written = cli.json(
        "report", "edit", made["id"], "--summary", "feed-1 said password=hunter2 for Project Falcon",
        "--word", "Project Falcon", "--follow-up", "an alert for it", "--follow-up", "more ports",
        "--detected", "2026-01-31T02:14:00Z", "--mitigated", "2026-01-31T03:00:00Z",
    )  # fmt: skip
    assert [one["what"] for one in written["follow_ups"]] == ["an alert for it", "more ports"]
    replaced = cli("report", "preview", made["id"])
    assert "hunter2" in replaced and "project falcon" in replaced and "host-1" in replaced
    frozen_now = cli("report", "freeze", made["id"])
    assert "version 1" in frozen_now and "sha256" in frozen_now
    for form in ("html", "markdown", "json"):
        output = tmp_path / f"report.{form}"
        cli("report", "file", made["id"], "--format", form, "-o", str(output))
        text = output.read_text()
        assert text and [name for name in ("feed-1", "hunter2", "Falcon") if name in text] == []
    assert "证据链" in (tmp_path / "report.markdown").read_text()
    assert json.loads(cli("report", "file", made["id"], "--format", "json"))["zone"] == "Asia/Shanghai"
    cli("report", "share", made["id"], status=REFUSED)
    assert "approved" in cli.last.stderr
    cli("report", "approve", made["id"], status=REFUSED)
    other = {"CULPRIT_TOKEN": people["oncall"].token}
    assert "approved" in cli("report", "approve", made["id"], **other)
    url = cli("report", "share", made["id"], "--days", "1", "--note", "acme").strip()
    link = url.replace(url.split("/r/")[0], cli.environment["CULPRIT_URL"])
    assert httpx2.get(link).status_code == 200
    shown = cli("report", "show", made["id"])
    assert "approved by oncall" in shown and "1 visits" in shown and "acme" in shown
    [share] = cli.json("report", "show", made["id"])["shares"]
    cli("report", "revoke", share["id"])
    assert httpx2.get(link).status_code == 404
    assert "closed" in cli("report", "show", made["id"])
    assert made["id"] in cli("report", "list", number)
