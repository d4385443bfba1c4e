"""The command line as its own process, against a real server process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from culprit.auth.tokens import hash_password
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Credential, Host, Rotation, Run, RunCollector, UserAccount
from culprit.playbooks.library import CATALOG
from culprit.tests.support.command_line import (
    DONE,
    FAILED,
    NOT_LOGGED_IN,
    PARTIAL,
    REFUSED,
    TIMED_OUT,
    UNREACHABLE,
    USAGE,
    Cli,
)
from culprit.tests.support.runs import make_host
from culprit.tests.support.sshd import Sshd
from sqlalchemy import update

pytestmark = pytest.mark.long(120)


def add(cli: Cli, target: Sshd, name: str = "web1", *more: str) -> Any:
    return cli.json(
        "host", "add", "--name", name, "--address", target.address, "--port", str(target.port),
        "--user", target.username, "--key-file", str(target.directory / "key"),
        "--host-key", target.host_key.fingerprint, "--label", "role=feed", *more,
    )  # fmt: skip


def test_hosts(cli: Cli, target: Sshd, tmp_path: Path) -> None:
    made = add(cli, target)
    assert made["name"] == "web1" and made["host_key"] == target.host_key.fingerprint
    assert set(made) == {
        "id", "name", "address", "port", "user", "state", "host_key", "labels", "facts", "paste",
    }  # fmt: skip
    assert cli.json("host", "list") == [made]
    assert cli.json("host", "list", "--label", "role=ads") == []
    assert "web1" in cli("host", "list") and "role=feed" in cli("host", "list", "--label", "role=feed")
    again = ["--name", "web1", "--address", target.address, "--port", str(target.port), "--user", "root"]
    cli("host", "add", *again, "--agent", "--host-key", target.host_key.fingerprint, status=REFUSED)
    assert "already an active host" in cli.last.stderr
    cli("host", "add", *again, "--agent", status=REFUSED)
    assert target.host_key.fingerprint in cli.last.stderr, "shown, and nobody there to confirm it"
    cli("host", "add", *again, status=USAGE)
    cli("host", "add", *again, "--agent", "--generate-key", status=USAGE)
    cli("host", "add", *again, "--key-file", str(tmp_path / "missing"), status=USAGE)
    wrong = "SHA256:" + "A" * 43
    cli("host", "add", "--name", "x", *again[2:], "--agent", "--host-key", wrong, status=REFUSED)
    assert target.host_key.fingerprint in cli.last.stderr
    generated = cli.json(
        "host",
        "add",
        "--name",
        "gen",
        *again[2:],
        "--generate-key",
        "--host-key",
        target.host_key.fingerprint,
    )
    assert generated["paste"].startswith("restrict ssh-ed25519 ")
    cli("host", "check", "web1", "--timeout", "1", status=TIMED_OUT)
    cli("host", "check", "nobody", status=REFUSED)


def test_lists_of_hosts(cli: Cli, target: Sshd, tmp_path: Path) -> None:
    text = f"name,address,port,user\ngood,127.0.0.1,{target.port},root\nbad,192.0.2.1,22,root\n"
    file = tmp_path / "hosts.csv"
    file.write_text(text)
    add(cli, target, "other")
    dry = cli.json(
        "host", "import", str(file), "--format", "csv", "--credential", "other", "--dry-run", status=PARTIAL
    )
    assert [row["verdict"] for row in dry["rows"]] == ["exists", "refused"] and dry["added"] == 0
    assert dry["rows"][1]["reason"] and "{" not in dry["rows"][1]["reason"]
    line = f"[127.0.0.2]:22 {target.host_key.line}\n"
    done = cli("host", "import", "-", "--format", "known_hosts", stdin=line, status=PARTIAL)
    assert "incomplete" in done
    cli("host", "import", str(tmp_path / "none"), "--format", "csv", status=USAGE)


def finish(db: Database, capture_id: str, state: str) -> None:
    """What a worker would have written."""
    with unit_of_work(db.sessions) as session:
        session.execute(update(Capture).where(Capture.id == capture_id).values(state=state))
        session.execute(update(Run).where(Run.capture_id == capture_id).values(state=state))


def test_captures_and_their_exit_status(cli: Cli, target: Sshd, db: Database) -> None:
    add(cli, target)
    asked = cli.json("capture", "web1", "--plan", "triage", "--reason", "slow")
    assert set(asked) == {"capture", "state", "runs"} and asked["state"] == "queued"
    run = asked["runs"][0]
    assert set(run) == {"id", "host", "state", "seconds", "collectors"} and run["host"] == "web1"
    assert {"id", "state", "reason", "bytes"} == set(run["collectors"][0])
    cli("capture", "web1", "--plan", "triage", "--wait", "--timeout", "1", status=TIMED_OUT)
    listed = cli.json("captures", "--host", "web1")
    assert [one["state"] for one in listed] == ["queued", "queued"] and listed[1] == asked
    assert "triage" in cli("captures")
    for state, status in (("done", DONE), ("partial", PARTIAL), ("failed", FAILED), ("expired", FAILED)):
        waiting = subprocess.Popen(
            [sys.executable, "-m", "culprit.cli", "capture", "web1", "--plan", "triage", "--wait", "--json"],
            env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        before = {one["capture"] for one in listed}
        while not (new := {one["capture"] for one in cli.json("captures")} - before):
            assert waiting.poll() is None
        finish(db, new.pop(), state)
        out, _ = waiting.communicate(timeout=120)
        assert waiting.returncode == status and json.loads(out)["state"] == state
        listed = cli.json("captures")
    cancelled = cli.json("cancel", asked["capture"])
    assert cancelled["capture"] == asked["capture"]
    cli("capture", "nobody", "--plan", "triage", status=REFUSED)
    cli("capture", "web1", "--plan", "no-such-plan", status=REFUSED)
    cli("capture", "web1", status=USAGE)
    scoped = cli.json("capture", "web1", "--plan", "triage", "--scope", "cgroup=/app")
    with db.sessions() as session:
        assert session.get_one(Capture, uuid.UUID(scoped["capture"])).scope == {
            "kind": "cgroup",
            "value": "/app",
        }
    cli("capture", "web1", "--plan", "triage", "--scope", "cgroup=app", status=USAGE)
    cli("capture", "web1", "--plan", "triage", "--option", "vmstat", status=USAGE)
    cli("capture", "web1", "--plan", "triage", "--option", "vmstat.no=1", status=REFUSED)


def test_a_run_is_shown(cli: Cli, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="c", kind="agent")
        session.add(credential)
        session.flush()
        host = Host(
            name="h\x1b[31m", address="a", username="u", credential_id=credential.id, facts={"kernel": "6.1"}
        )
        capture = Capture(plan="cpu", state="done")
        session.add_all([host, capture])
        session.flush()
        run = Run(capture_id=capture.id, host_id=host.id, state="done")
        session.add(run)
        session.flush()
        session.add(RunCollector(run_id=run.id, collector="vmstat", state="done"))
        run_id, capture_id = str(run.id), str(capture.id)
    shown = cli.json("show", run_id)
    assert set(shown) == {"run", "host", "facts", "series", "profiles", "sched", "events"}
    assert shown["run"] == run_id and shown["facts"] == {"kernel": "6.1"} and shown["sched"] == []
    assert cli.json("show", capture_id) == shown
    assert "\x1b" not in cli("show", run_id), "a host's name is no command for a terminal"
    cli("show", "nonsense", status=USAGE)
    cli("show", "018f0000-0000-7000-8000-000000000000", status=REFUSED)
    cli("export", run_id, status=REFUSED)


def test_playbooks(cli: Cli, db: Database, tmp_path: Path) -> None:
    assert "connect-port-exhaustion" in cli("playbook", "list")
    sound = CATALOG / "connect-port-exhaustion.yaml"
    assert "sound" in cli("playbook", "check", str(sound))
    broken = tmp_path / "mine.yaml"
    broken.write_text(sound.read_text("utf-8").replace("F-NET-PORT-EXHAUSTION", "F-NET-PORTS"))
    told = cli("playbook", "check", str(sound), str(broken), status=REFUSED)
    assert "steps.ports-left.finding: There is no rule named F-NET-PORTS." in told
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="triage", state="done")
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, state="done", facts={})
        session.add(run)
        session.flush()
        run_id = str(run.id)
    told = cli("playbook", "try", "connect-port-exhaustion", run_id)
    assert "not collected" in told and "Next: " in told
    cli("playbook", "try", "no-such-playbook", run_id, status=REFUSED)


def test_incidents(cli: Cli, db: Database) -> None:
    host = str(make_host(db, "web9"))
    book = "connect-port-exhaustion"
    told = cli("incident", "new", "feed is slow", "--host", "web9", "--playbook", book)
    assert "#1 feed is slow: open" in told and "not collected" in told and "Next: " in told
    assert "feed is slow" in cli("incident", "list", "--state", "open")
    now = cli.json("incident", "show", "#1")
    assert now["hosts"][0]["id"] == host
    assert cli.json("incident", "step", "1")["runs"][0]["state"] == "queued"
    cli("incident", "verdict", "1", f"{book}/port-search", "supports", status=REFUSED)
    assert "A verdict rests on evidence" in cli.last.stderr
    made = cli.json("incident", "fix", "1", "keep alive", "--hypothesis", f"{book}/search")["made"]
    assert "keep alive" in cli("incident", "verify", "1", made), "measured before it is applied"
    assert "applied" in cli("incident", "fix", now["id"], made, "--applied")
    cli("incident", "show", "7", status=REFUSED)
    gaps = cli.json("incident", "show", "1")["gaps"]
    assert "(waived)" in cli("incident", "waive", "1", *gaps[:2], "--reason", "nobody can look there")
    assert "set aside: no use" in cli("incident", "aside", "1", book, "--reason", "no use here")
    assert cli.json("incident", "show", "1")["gaps"] == []
    assert "set aside" not in cli("incident", "aside", "1", book, "--back")
    assert "investigating" in cli("incident", "state", "1", "investigating")
    cli("incident", "state", "1", "resolved", status=REFUSED)
    cli("incident", "show", "seven", status=USAGE)


def test_storage(cli: Cli, db: Database) -> None:
    assert "for ever" in cli("storage", "show") and "not measured yet" in cli.last.stdout
    cli("storage", "keep", "recordings", "--days", "30", "--size", "50GiB", "--yes")
    assert "This deletes 0 items" in cli.last.stderr
    kept = {one["kind"]: one for one in cli.json("storage", "show")["policies"]}
    assert (kept["recordings"]["days"], kept["recordings"]["max_bytes"]) == (30, 50 << 30)
    assert "30 days, up to 50 GiB" in cli("storage", "show")
    cli("storage", "keep", "audit", "--days", "1", "--yes", status=REFUSED)
    cli("storage", "keep", "texts", "--size", "much", "--yes", status=USAGE)


def test_files(cli: Cli, tmp_path: Path) -> None:
    folded = tmp_path / "stacks.folded"
    folded.write_text("main;work 10\nmain;idle 5\n")
    read = cli.json("import", str(folded), "--kind", "folded", "--name", "brought")
    assert set(read) == {"capture", "state", "runs"} and len(read["runs"]) == 1
    cli("import", str(tmp_path / "none"), status=USAGE)
    (tmp_path / "junk").write_bytes(b"\0\1\2")
    cli("import", str(tmp_path / "junk"), status=REFUSED)
    script = cli("bundle", "--plan", "triage", "--seconds", "2")
    assert (
        script.startswith("#!/bin/sh")
        and subprocess.run(["sh", "-n"], check=False, input=script, text=True).returncode == 0
    )
    cli("bundle", "--plan", "nonsense", status=REFUSED)


def test_where_url_and_token_come_from(
    cli: Cli, server_url: str, people, tmp_path: Path, db: Database
) -> None:
    bare = Cli({k: v for k, v in cli.environment.items() if k not in {"CULPRIT_URL", "CULPRIT_TOKEN"}})
    bare("host", "list", status=NOT_LOGGED_IN)
    bare("host", "list", status=NOT_LOGGED_IN, CULPRIT_URL=server_url)
    bare("host", "list", status=NOT_LOGGED_IN, CULPRIT_URL=server_url, CULPRIT_TOKEN="culprit_wrong")
    bare("host", "list", status=UNREACHABLE, CULPRIT_URL="http://127.0.0.1:9", CULPRIT_TOKEN="x")
    bare("host", "list", status=USAGE, CULPRIT_URL="ftp://x", CULPRIT_TOKEN="x")
    home = tmp_path / "left-by-up"
    home.mkdir()
    (home / "cli.json").write_text(json.dumps({"url": server_url, "token": people["viewer"].token}))
    assert bare.json("host", "list", CULPRIT_HOME=str(home)) == []
    bare("login", server_url, "--token", people["oncall"].token)
    kept = tmp_path / ".config" / "culprit" / "cli.json"
    assert (
        kept.stat().st_mode & 0o777 == 0o600
        and json.loads(kept.read_text())["token"] == people["oncall"].token
    )
    assert bare.json("captures") == []
    bare("host", "list", status=UNREACHABLE, CULPRIT_URL="http://127.0.0.1:9")
    bare("login", server_url, "--token", "culprit_wrong", status=NOT_LOGGED_IN)
    with unit_of_work(db.sessions) as session:
        session.add(UserAccount(name="ada", role="viewer", password_hash=hash_password("a long password")))
    bare("login", server_url, "--name", "ada", stdin="a long password\n")
    assert json.loads(kept.read_text())["token"].startswith("culprit_")
    assert bare.json("host", "list") == []
    bare("login", server_url, "--name", "ada", stdin="wrong\n", status=NOT_LOGGED_IN)


def test_help_and_wrong_usage(cli: Cli) -> None:
    for words in (("--help",), ("host", "--help"), ("capture", "--help")):
        assert "Usage" in cli(*words)
    assert cli("version").strip()
    cli("nonsense", status=USAGE)
    cli("host", "add", status=USAGE)


def test_schedules_and_who_is_on_call(cli: Cli, db: Database, people) -> None:
    make_host(db, "feed-1", {"role": "feed"})
    assert "02:30" in cli("schedule", "preview", "--cron", "30 2 * * *", "--zone", "Asia/Shanghai")
    made = cli.json(
        "schedule", "new", "nightly", "--cron", "30 2 * * *", "--label", "role=feed", "--catch-up"
    )
    assert (made["matching"], made["catch_up"], made["wanted"]["plan"]) == (1, "one", "baseline")
    assert "nightly" in cli("schedule", "list")
    assert cli.json("schedule", "pause", "nightly")["state"] == "paused"
    assert "paused" in cli("schedule", "show", "nightly")
    assert cli.json("schedule", "resume", made["id"])["state"] == "active"
    cli("schedule", "new", "x", "--cron", "never", "--host", "feed-1", status=REFUSED)
    cli("schedule", "new", "x", "--host", "feed-1", status=USAGE)
    held = cli.json("schedule", "hold", "new disks", "--host", "feed-1", "--minutes", "5")
    assert "new disks" in cli("schedule", "holds")
    cli("schedule", "release", held["id"])
    weekly = [
        "schedule",
        "hold",
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
    assert "0 2 * * sun Asia/Shanghai, 90 min" in cli("schedule", "holds")
    cli("schedule", "release", again["id"])
    cli("schedule", "hold", "backup", "--cron", "never", status=REFUSED)
    cli("schedule", "hold", "backup", "--until", "2100-01-01", status=USAGE)
    cli("schedule", "remove", "nightly")
    cli("schedule", "show", "nightly", status=REFUSED)
    with unit_of_work(db.sessions) as session:
        turns = [str(people["oncall"].id)]
        session.add(Rotation(name="primary", kind="simple", people=turns, first_day=date(2026, 1, 5)))
    assert "oncall" in cli("oncall", "list")
    assert "admin" in cli("oncall", "take", "primary", "--hours", "1")
    cli("oncall", "take", "tertiary", status=REFUSED)


def test_what_waits_on_hosts(cli: Cli, db: Database) -> None:
    make_host(db, "feed-7")
    when = ("--when", "process:java", "--when", "stall_pct:io.some>20@3/5", "--when", "available_pct<5")
    made = json.loads(cli("arm", "feed-7", *when, "--hours", "2", "--times", "3", "--json"))
    assert [one["kind"] for one in made["conditions"]] == ["process_start", "stall_pct", "available_pct"]
    assert (made["conditions"][1]["hits"], made["conditions"][2]["op"], made["fires_max"]) == (3, "under", 3)
    assert "process:java or stall_pct:io.some>20@3/5 or available_pct<5" in cli("armed")
    cli("arm", "feed-7", "--when", "process:java", status=REFUSED)
    cli("arm", "feed-7", "--when", "load1 is high", status=USAGE)
    assert "feed-7: ends" in cli("disarm", "feed-7")
    cli("disarm", "feed-7", status=REFUSED)
    assert json.loads(cli("armed", "--json")) == []
    assert "feed-7 until" in cli("ring", "start", "feed-7", "--minutes", "5")
    assert "0 of 300 s" in cli("ring", "list")
    assert "ends" in cli("ring", "stop", "feed-7")
    assert json.loads(cli("ring", "list", "--over", "--json"))[0]["state"] == "cancelled"


def test_events_are_told(cli: Cli, db: Database) -> None:
    make_host(db, "feed-7", {"role": "feed"})
    more = ("--kind", "deploy", "--label", "role=feed", "--id", "job-1", "--at", "2026-11-22T02:14:00Z")
    one = cli.json("annotate", "feed 4f2a", *more)
    assert cli.json("annotate", "feed 4f2a", *more, "--until", "2026-11-22T02:15:00Z")["id"] == one["id"]
    assert "feed-7" in cli("event", "list", "--host", "feed-7") and "deploy" in cli("event", "list")
    assert cli.json("event", "correct", one["id"], "--who", "bo\x1b[2J")["who"] == "bo\ufffd[2J"
    assert "\x1b" not in cli("event", "list")
    cli("annotate", "x", "--label", "role=none", status=REFUSED)
    assert "No host has the labels role=none" in cli.last.stderr
    cli("annotate", "x", status=USAGE)
    cli("annotate", "x", "--everywhere", "--host", "feed-7", status=USAGE)
    cli("annotate", "x", "--label", "role", status=USAGE)
    cli("event", "correct", one["id"], status=USAGE)
    assert "Nothing was ever read" in cli("host", "changes", "feed-7")
    assert cli.json("host", "changes", "feed-7")["facts"] == 0
    cli("event", "withdraw", one["id"])
    assert cli.json("event", "list") == [] and len(cli.json("event", "list", "--withdrawn")) == 1


def test_a_console_sends_what_it_saw_with_curl_alone(
    cli: Cli, db: Database, server_url: str, tmp_path: Path
) -> None:
    made = cli.json("upload", "new", "--host-name", "console-1", "--plan", "baseline", "--seconds", "1")
    here = made["command"].replace("http://testserver", server_url)
    script = cli("bundle", "--push", made["url"].replace("http://testserver", server_url))
    assert script.startswith("#!/bin/sh") and made["url"] in script
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
    other = cli.json("upload", "new", "--host-name", "console-2")
    cli("upload", "revoke", other["id"])
    cli("bundle", "--push", other["url"].replace("http://testserver", server_url), status=REFUSED)
    assert "was revoked" in cli.last.stderr
    cli("upload", "new", status=USAGE)
