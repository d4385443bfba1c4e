"""Alerts, notifications, the kill switch and reports by the command line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.tests.support.command_line import REFUSED, USAGE, Cli
from culprit.tests.support.runs import make_host

pytestmark = pytest.mark.long(60)


def send(cli: Cli, result: dict[str, Any], **alert: Any) -> dict[str, Any]:
    """Send an alert as a monitoring system does and return the result."""
    answer = httpx2.post(
        cli.environment["CULPRIT_URL"] + result["path"],
        json={"nonce": time.monotonic_ns(), **alert},
        headers={"Authorization": f"Bearer {result['secret']}"},
        timeout=30.0,
    )
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def test_triggers_alerts_and_channels(cli: Cli, db: Database) -> None:
    for n in (1, 2, 3):
        make_host(db, f"feed-{n}", {"role": "feed"})
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    hook = "http://127.0.0.1:9/alerts?key=canary"
    displayed = cli("channel", "create", "pager", "--url", hook)
    assert "127.0.0.1:9" in displayed and "secret (shown once)" in displayed and "canary" not in displayed
    cli("channel", "create", "post", "--kind", "email", status=USAGE)
    cli("channel", "create", "away", "--url", "https://10.9.9.9/x", status=REFUSED)
    assert "pager" in cli("channel", "list") and "canary" not in cli("channel", "list", "--json")
    assert "is queued" in cli("channel", "test", "pager")
    assert "pager" in cli("notification", "list", "--state", "queued")
    cli("channel", "test", "nobody", status=REFUSED)
    assert "Retrying 0. Queued: 1." in cli("channel", "retry", "pager")
    assert cli.json("channel", "annotations", "--state", "failed") == []

    displayed = cli(
        "trigger", "create", "hmac", "--kind", "pagerduty", "--proof", "hmac", CULPRIT_TRIGGER_SECRET="s" * 20
    )
    assert "secret (shown once)" in displayed and "curl" not in displayed
    cli("trigger", "create", "hmac", "--kind", "generic", status=REFUSED)
    cli("trigger", "create", "x", "--channel", "nobody", status=REFUSED)
    result = cli.json("trigger", "create", "mine", "--channel", "pager", "--peers", "2")
    assert f"Bearer {result['secret']}" not in cli("trigger", "list", "--json")
    reported = cli("trigger", "test", "mine", "--label", "host=feed-1")
    assert "started: feed-1" in reported and "feed-2" in reported and "feed-3" in reported
    assert "unmatched" in cli("trigger", "test", "mine", "--label", "host=nobody")
    cli("trigger", "test", "mine", "--label", "nonsense", status=USAGE)
    assert cli.json("trigger", "alerts") == []
    assert send(cli, result, title="p99 is 2.3 s", host="feed-1")["started"] == 1
    assert send(cli, result, title="p99 is 2.3 s", host="feed-9")["unmatched"] == 1
    listed = cli("trigger", "alerts")
    assert "p99 is 2.3 s" in listed and "feed-9" in listed, (
        "what matches no host stays visible, with the reason"
    )
    [fired] = cli.json("trigger", "alerts", "--state", "started")
    assert fired["host"]["name"] == "feed-1" and fired["incident_number"]
    assert "1 started" in cli("trigger", "list") and "1 unmatched" in cli("trigger", "list")
    cli("trigger", "remove", "mine")
    cli("trigger", "test", "mine", status=REFUSED)


def test_the_kill_switch(cli: Cli, db: Database) -> None:
    make_host(db, "feed-1", {"role": "feed"})
    result = cli.json("trigger", "create", "mine")
    cli("kill-switch", "activate", "--host", "feed-1", "--label", "role=feed", status=USAGE)
    cli("kill-switch", "activate", "--host", "nobody", status=REFUSED)
    assert "feed-1: kill switch active" in cli(
        "kill-switch", "activate", "--host", "feed-1", "--reason", "new disks"
    )
    assert "role=feed: kill switch active" in cli(
        "kill-switch", "activate", "--label", "role=feed", "--keep-running"
    )
    assert "everywhere: kill switch active" in cli("kill-switch", "activate")
    assert "new disks" in cli("kill-switch", "list")
    held = cli.json("kill-switch", "list")
    assert {item["kind"] for item in held} == {"host", "label", "everywhere"}
    assert send(cli, result, title="slow", host="feed-1")["refused"] == 1
    [alert] = cli.json("trigger", "alerts")
    assert alert["state"] == "refused" and alert["reason"]
    assert "deactivated" in cli(
        "kill-switch", "deactivate", next(item["id"] for item in held if item["kind"] == "host")
    )
    assert cli("kill-switch", "deactivate", "all").count("deactivated") == 2
    assert cli.json("kill-switch", "list") == []
    assert send(cli, result, title="slow again", host="feed-1")["started"] == 1


def test_reports(cli: Cli, db: Database, people, tmp_path: Path) -> None:
    make_host(db, "feed-1", {"role": "feed"})
    incident = cli.json("incident", "create", "feed-1 is slow", "--host", "feed-1")
    number = str(incident["number"])
    result = cli.json("report", "create", number, "--language", "zh", "--zone", "Asia/Shanghai")
    assert (result["title"], result["language"], result["preset"]) == ("feed-1 is slow", "zh", "customer")
    cli("report", "create", number, "--zone", "Mars/Base", status=REFUSED)
    cli("report", "show", "nonsense", status=USAGE)
    cli("report", "download", result["id"], status=REFUSED)
    written = cli.json(
        "report", "update", result["id"], "--summary", "feed-1 said password=hunter2 for Project Falcon",
        "--word", "Project Falcon", "--follow-up", "an alert for it", "--follow-up", "more ports",
        "--detected", "2026-01-31T02:14:00Z", "--mitigated", "2026-01-31T03:00:00Z",
    )  # fmt: skip
    assert [follow_up["what"] for follow_up in written["follow_ups"]] == ["an alert for it", "more ports"]
    replaced = cli("report", "preview", result["id"])
    assert "hunter2" in replaced and "project falcon" in replaced and "host-1" in replaced
    frozen_now = cli("report", "freeze", result["id"])
    assert "version 1" in frozen_now and "sha256" in frozen_now
    for form in ("html", "markdown", "json"):
        output = tmp_path / f"report.{form}"
        cli("report", "download", result["id"], "--format", form, "-o", str(output))
        text = output.read_text()
        assert text and [name for name in ("feed-1", "hunter2", "Falcon") if name in text] == []
    assert "证据链" in (tmp_path / "report.markdown").read_text()
    assert json.loads(cli("report", "download", result["id"], "--format", "json"))["zone"] == "Asia/Shanghai"
    cli("report", "share", result["id"], status=REFUSED)
    assert "approved" in cli.last.stderr
    cli("report", "approve", result["id"], status=REFUSED)
    other = {"CULPRIT_TOKEN": people["oncall"].token}
    assert "approved" in cli("report", "approve", result["id"], **other)
    url = cli("report", "share", result["id"], "--days", "1", "--note", "acme").strip()
    link = url.replace(url.split("/r/")[0], cli.environment["CULPRIT_URL"])
    assert httpx2.get(link).status_code == 200
    displayed = cli("report", "show", result["id"])
    assert "approved by oncall" in displayed and "1 visits" in displayed and "acme" in displayed
    [share] = cli.json("report", "show", result["id"])["shares"]
    cli("report", "revoke", share["id"])
    assert httpx2.get(link).status_code == 404
    assert "closed" in cli("report", "show", result["id"])
    assert result["id"] in cli("report", "list", number)
