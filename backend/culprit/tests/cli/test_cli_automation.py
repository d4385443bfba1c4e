"""Schedules, watchers, events and uploads by the command line."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import date
from pathlib import Path

import pytest
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.notifications.rotation import Rotation
from culprit.tests.support.command_line import (
    REFUSED,
    USAGE,
    Cli,
)
from culprit.tests.support.runs import make_host

pytestmark = pytest.mark.long(120)


def test_schedule_maintenance_and_oncall_commands(cli: Cli, db: Database, people) -> None:
    make_host(db, "feed-1", {"role": "feed"})
    assert "02:30" in cli("schedule", "preview", "--cron", "30 2 * * *", "--zone", "Asia/Shanghai")
    result = cli.json(
        "schedule", "create", "nightly", "--cron", "30 2 * * *", "--label", "role=feed", "--catch-up"
    )
    assert (result["matching"], result["catch_up"], result["capture"]["plan"]) == (1, "one", "baseline")
    assert "nightly" in cli("schedule", "list")
    assert cli.json("schedule", "pause", "nightly")["state"] == "paused"
    assert "paused" in cli("schedule", "show", "nightly")
    assert cli.json("schedule", "resume", result["id"])["state"] == "active"
    cli("schedule", "create", "x", "--cron", "never", "--host", "feed-1", status=REFUSED)
    cli("schedule", "create", "x", "--host", "feed-1", status=USAGE)
    held = cli.json("maintenance", "create", "new disks", "--host", "feed-1", "--minutes", "5")
    assert "new disks" in cli("maintenance", "list")
    cli("maintenance", "end", held["id"])
    weekly = [
        "maintenance",
        "create",
        "backup",
        "--cron",
        "0 2 * * sun",
        "--zone",
        "Asia/Shanghai",
        "--minutes",
        "90",
    ]
    again = cli.json(*weekly, "--until", "2100-01-01")
    assert (again["recurs"]["minutes"], again["ends_at"]) == (90, "2100-01-01T00:00:00Z")
    assert "0 2 * * sun Asia/Shanghai, 90 min" in cli("maintenance", "list")
    cli("maintenance", "end", again["id"])
    cli("maintenance", "create", "backup", "--cron", "never", status=REFUSED)
    cli("maintenance", "create", "backup", "--until", "2100-01-01", status=USAGE)
    cli("schedule", "remove", "nightly")
    cli("schedule", "show", "nightly", status=REFUSED)
    with unit_of_work(db.sessions) as session:
        turns = [str(people["oncall"].id)]
        session.add(Rotation(name="primary", kind="simple", people=turns, first_day=date(2026, 1, 5)))
    assert "oncall" in cli("oncall", "list")
    assert "admin" in cli("oncall", "override", "primary", "--hours", "1")
    cli("oncall", "override", "tertiary", status=REFUSED)


def test_watcher_commands(cli: Cli, db: Database) -> None:
    make_host(db, "feed-7")
    when = ("--when", "process:java", "--when", "stall_pct:io.some>20@3/5", "--when", "available_pct<5")
    create = ("watcher", "create", "conditional", "feed-7")
    result = json.loads(cli(*create, *when, "--hours", "2", "--max-captures", "3", "--json"))
    assert [condition["kind"] for condition in result["conditions"]] == [
        "process_start",
        "stall_pct",
        "available_pct",
    ]
    assert (
        result["conditions"][1]["required_hits"],
        result["conditions"][2]["op"],
        result["max_captures"],
    ) == (
        3,
        "under",
        3,
    )
    assert "process:java or stall_pct:io.some>20@3/5 or available_pct<5" in cli("watcher", "list")
    cli(*create, "--when", "process:java", status=REFUSED)
    cli(*create, "--when", "load1 is high", status=USAGE)
    assert "feed-7: stopping" in cli("watcher", "stop", "feed-7")
    cli("watcher", "stop", "feed-7", status=REFUSED)
    assert json.loads(cli("watcher", "list", "--json")) == []
    assert "feed-7 until" in cli("watcher", "create", "lookback", "feed-7", "--minutes", "5")
    assert "0 of 300 s" in cli("watcher", "list", "--kind", "lookback")
    assert "stopping" in cli("watcher", "stop", "feed-7", "--kind", "lookback")
    assert (
        json.loads(cli("watcher", "list", "--kind", "lookback", "--ended", "--json"))[0]["state"]
        == "canceled"
    )


def test_event_commands_report_list_update_withdraw(cli: Cli, db: Database) -> None:
    make_host(db, "feed-7", {"role": "feed"})
    more = ("--kind", "deploy", "--label", "role=feed", "--id", "job-1", "--at", "2026-11-22T02:14:00Z")
    item = cli.json("event", "report", "feed 4f2a", *more)
    assert (
        cli.json("event", "report", "feed 4f2a", *more, "--until", "2026-11-22T02:15:00Z")["id"] == item["id"]
    )
    assert "feed-7" in cli("event", "list", "--host", "feed-7") and "deploy" in cli("event", "list")
    assert cli.json("event", "update", item["id"], "--who", "bo\x1b[2J")["who"] == "bo\ufffd[2J"
    assert "\x1b" not in cli("event", "list")
    cli("event", "report", "x", "--label", "role=none", status=REFUSED)
    assert "No host has the labels role=none" in cli.last.stderr
    cli("event", "report", "x", status=USAGE)
    cli("event", "report", "x", "--everywhere", "--host", "feed-7", status=USAGE)
    cli("event", "report", "x", "--label", "role", status=USAGE)
    cli("event", "update", item["id"], status=USAGE)
    assert "No facts yet" in cli("host", "changes", "feed-7")
    assert cli.json("host", "changes", "feed-7")["facts"] == 0
    cli("event", "withdraw", item["id"])
    assert cli.json("event", "list") == [] and len(cli.json("event", "list", "--withdrawn")) == 1


def test_a_console_sends_what_it_saw_with_curl_alone(
    cli: Cli, db: Database, server_url: str, tmp_path: Path
) -> None:
    result = cli.json("upload", "create", "--host-name", "console-1", "--plan", "baseline", "--seconds", "1")
    here = result["command"].replace("http://testserver", server_url)
    script = cli("capture", "script", "--push", result["url"].replace("http://testserver", server_url))
    assert script.startswith("#!/bin/sh") and result["url"] in script
    # Fetched into a new private directory, where no other user can put something in its place.
    fetch = here.rpartition("&&")[0]
    subprocess.run(["sh", "-c", fetch], check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    [fetched] = tmp_path.glob("*/culprit.sh")
    assert fetched.read_text().count("CULPRIT_ENDS_HERE") == 2
    assert fetched.parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "culprit.sh").write_text(script.replace("http://testserver", server_url))
    ran = subprocess.run(
        ["sh", "culprit.sh"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    assert "It is capture" in ran.stdout
    with db.sessions() as session:
        host = session.query(Host).filter(Host.name == "console-1").one()
        run = session.query(Run).filter(Run.host_id == host.id).one()
    assert run.state == "ingesting"
    again = subprocess.run(
        ["sh", "culprit.sh"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert (
        again.returncode == 75
        and "Each takes one bundle" in again.stdout
        and "curl -T culprit-" in again.stderr
    )
    assert len(list(tmp_path.glob("culprit-*.bundle"))) == 1, "what could not be sent is kept"
    assert "used" in cli("upload", "list")
    other = cli.json("upload", "create", "--host-name", "console-2")
    cli("upload", "revoke", other["id"])
    cli("capture", "script", "--push", other["url"].replace("http://testserver", server_url), status=REFUSED)
    assert "was revoked" in cli.last.stderr
    cli("upload", "create", status=USAGE)
