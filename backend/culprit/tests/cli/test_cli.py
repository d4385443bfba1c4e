"""The command line as its own process, against a real server process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from culprit.accounts.tokens import hash_password
from culprit.analysis.playbooks.library import CATALOG
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.infra.models.system.storage_check import StorageCheck
from culprit.jobs.system.check_storage import run_check
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
from sqlalchemy import select, update

pytestmark = pytest.mark.long(120)


def add(cli: Cli, target: Sshd, name: str = "web1", *more: str) -> Any:
    return cli.json(
        "host", "add", "--name", name, "--address", target.address, "--port", str(target.port),
        "--user", target.username, "--key-file", str(target.directory / "key"),
        "--host-key", target.host_key.fingerprint, "--label", "role=feed", *more,
    )  # fmt: skip


def test_hosts(cli: Cli, target: Sshd, tmp_path: Path) -> None:
    result = add(cli, target)
    assert result["name"] == "web1" and result["host_key"] == target.host_key.fingerprint
    assert set(result) == {
        "id", "name", "address", "port", "user", "state", "host_key", "labels", "facts", "paste",
    }  # fmt: skip
    assert cli.json("host", "list") == [result]
    assert cli.json("host", "list", "--label", "role=ads") == []
    assert "web1" in cli("host", "list") and "role=feed" in cli("host", "list", "--label", "role=feed")
    again = ["--name", "web1", "--address", target.address, "--port", str(target.port), "--user", "root"]
    cli("host", "add", *again, "--agent", "--host-key", target.host_key.fingerprint, status=REFUSED)
    assert "An active host named" in cli.last.stderr
    cli("host", "add", *again, "--agent", status=REFUSED)
    assert target.host_key.fingerprint in cli.last.stderr, (
        "printed without a question, because there is no terminal"
    )
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
    """End a capture with the state that a worker would write."""
    with unit_of_work(db.sessions) as session:
        session.execute(update(Capture).where(Capture.id == capture_id).values(state=state))
        session.execute(update(Run).where(Run.capture_id == capture_id).values(state=state))


def test_captures_and_their_exit_status(cli: Cli, target: Sshd, db: Database) -> None:
    add(cli, target)
    requested = cli.json("capture", "create", "web1", "--plan", "triage", "--reason", "slow")
    assert set(requested) == {"capture", "state", "runs"} and requested["state"] == "queued"
    run = requested["runs"][0]
    assert set(run) == {"id", "host", "state", "seconds", "collectors"} and run["host"] == "web1"
    assert {"id", "state", "reason", "bytes"} == set(run["collectors"][0])
    cli("capture", "create", "web1", "--plan", "triage", "--wait", "--timeout", "1", status=TIMED_OUT)
    listed = cli.json("capture", "list", "--host", "web1")
    assert [item["state"] for item in listed] == ["queued", "queued"] and listed[1] == requested
    assert "triage" in cli("capture", "list")
    for state, status in (("done", DONE), ("partial", PARTIAL), ("failed", FAILED), ("expired", FAILED)):
        waiting = subprocess.Popen(
            [sys.executable, "-m", "culprit.cli", "capture", "create", "web1", "--plan", "triage", "--wait", "--json"],
            env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        before = {item["capture"] for item in listed}
        while not (new := {item["capture"] for item in cli.json("capture", "list")} - before):
            assert waiting.poll() is None
        finish(db, new.pop(), state)
        out, _ = waiting.communicate(timeout=120)
        assert waiting.returncode == status and json.loads(out)["state"] == state
        listed = cli.json("capture", "list")
    canceled = cli.json("capture", "cancel", requested["capture"])
    assert canceled["capture"] == requested["capture"]
    cli("capture", "create", "nobody", "--plan", "triage", status=REFUSED)
    cli("capture", "create", "web1", "--plan", "no-such-plan", status=REFUSED)
    cli("capture", "create", "web1", status=USAGE)
    scoped = cli.json("capture", "create", "web1", "--plan", "triage", "--scope", "cgroup=/app")
    with db.sessions() as session:
        assert session.get_one(Capture, uuid.UUID(scoped["capture"])).scope == {
            "kind": "cgroup",
            "value": "/app",
        }
    cli("capture", "create", "web1", "--plan", "triage", "--scope", "cgroup=app", status=USAGE)
    cli("capture", "create", "web1", "--plan", "triage", "--option", "vmstat", status=USAGE)
    cli("capture", "create", "web1", "--plan", "triage", "--option", "vmstat.no=1", status=REFUSED)


def test_run_show_prints_run(cli: Cli, db: Database) -> None:
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
    displayed = cli.json("run", "show", run_id)
    assert set(displayed) == {"run", "host", "facts", "series", "profiles", "sched", "events"}
    assert displayed["run"] == run_id and displayed["facts"] == {"kernel": "6.1"} and displayed["sched"] == []
    assert cli.json("run", "show", capture_id) == displayed
    assert "\x1b" not in cli("run", "show", run_id), "a host's name is no command for a terminal"
    cli("run", "show", "nonsense", status=USAGE)
    cli("run", "show", "018f0000-0000-7000-8000-000000000000", status=REFUSED)
    cli("profile", "export", run_id, status=REFUSED)


def test_playbooks(cli: Cli, db: Database, tmp_path: Path) -> None:
    assert "connect-port-exhaustion" in cli("playbook", "list")
    valid = CATALOG / "connect-port-exhaustion.yaml"
    assert "valid" in cli("playbook", "check", str(valid))
    broken = tmp_path / "mine.yaml"
    broken.write_text(valid.read_text("utf-8").replace("F-NET-PORT-EXHAUSTION", "F-NET-PORTS"))
    reported = cli("playbook", "check", str(valid), str(broken), status=REFUSED)
    assert "steps.ports-left.finding: No rule is named F-NET-PORTS." in reported
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="triage", state="done")
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, state="done", facts={})
        session.add(run)
        session.flush()
        run_id = str(run.id)
    reported = cli("playbook", "dry-run", "connect-port-exhaustion", run_id)
    assert "not collected" in reported and "Next step: " in reported
    cli("playbook", "dry-run", "no-such-playbook", run_id, status=REFUSED)


def test_incidents(cli: Cli, db: Database) -> None:
    host = str(make_host(db, "web9"))
    book = "connect-port-exhaustion"
    reported = cli("incident", "create", "feed is slow", "--host", "web9", "--playbook", book)
    assert "#1 feed is slow: open" in reported and "not collected" in reported and "Next step: " in reported
    assert "feed is slow" in cli("incident", "list", "--state", "open")
    now = cli.json("incident", "show", "#1")
    assert now["hosts"][0]["id"] == host
    assert cli.json("incident", "run-step", "1")["runs"][0]["state"] == "queued"
    cli("incident", "verdict", "1", f"{book}/port-search", "supports", status=REFUSED)
    assert "A verdict needs evidence" in cli.last.stderr
    result = cli.json("incident", "fix", "1", "keep alive", "--hypothesis", f"{book}/search")["created_id"]
    assert "keep alive" in cli("incident", "verify", "1", result), "measured before it is applied"
    assert "applied" in cli("incident", "fix", now["id"], result, "--applied")
    cli("incident", "show", "7", status=REFUSED)
    gaps = cli.json("incident", "show", "1")["gaps"]
    assert "(waived)" in cli("incident", "waive-step", "1", *gaps[:2], "--reason", "no access to this host")
    assert "dismissed: no use" in cli("incident", "dismiss-playbook", "1", book, "--reason", "no use here")
    assert cli.json("incident", "show", "1")["gaps"] == []
    assert "dismissed" not in cli("incident", "restore-playbook", "1", book)
    assert "investigating" in cli("incident", "state", "1", "investigating")
    cli("incident", "state", "1", "resolved", status=REFUSED)
    cli("incident", "show", "seven", status=USAGE)


def test_storage(cli: Cli, db: Database) -> None:
    assert "indefinitely" in cli("storage", "show") and "Not measured yet" in cli.last.stdout
    cli("storage", "set-retention", "recordings", "--days", "30", "--size", "50GiB", "--yes")
    assert "This deletes 0 items" in cli.last.stderr
    stored = {policy["kind"]: policy for policy in cli.json("storage", "show")["policies"]}
    assert (stored["recordings"]["days"], stored["recordings"]["max_bytes"]) == (30, 50 << 30)
    assert "30 days, up to 50 GiB" in cli("storage", "show")
    cli("storage", "set-retention", "audit", "--days", "1", "--yes", status=REFUSED)
    cli("storage", "set-retention", "texts", "--size", "much", "--yes", status=USAGE)


def run_requested_check(db: Database) -> None:
    """Be the worker of a check: run it as soon as one is requested."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with unit_of_work(db.sessions) as session:
            requested = session.scalar(select(StorageCheck.id))
        if requested:
            run_check(db, artifact_store(), requested)
            return
        time.sleep(0.1)
    pytest.fail("no check was requested")


def test_storage_check_lists_altered_files(cli: Cli, db: Database) -> None:
    digest = "ab" * 32
    with unit_of_work(db.sessions) as session:
        session.add(BlobCheck(sha256=digest, altered_at=utc_now(), reason="truncated"))
    with ThreadPoolExecutor(1) as pool:
        check = pool.submit(run_requested_check, db)
        listed = cli("storage", "check", status=FAILED)
        check.result()
    assert "Altered files: 1" in listed and f"{digest} truncated since" in listed
    assert "Restore it from a backup" in cli.last.stderr


def test_files(cli: Cli, tmp_path: Path) -> None:
    folded = tmp_path / "stacks.folded"
    folded.write_text("main;work 10\nmain;idle 5\n")
    read = cli.json("capture", "import", str(folded), "--kind", "folded", "--name", "brought")
    assert set(read) == {"capture", "state", "runs"} and len(read["runs"]) == 1
    cli("capture", "import", str(tmp_path / "none"), status=USAGE)
    (tmp_path / "junk").write_bytes(b"\0\1\2")
    cli("capture", "import", str(tmp_path / "junk"), status=REFUSED)
    script = cli("capture", "script", "--plan", "triage", "--seconds", "2")
    assert (
        script.startswith("#!/bin/sh")
        and subprocess.run(["sh", "-n"], check=False, input=script, text=True).returncode == 0
    )
    cli("capture", "script", "--plan", "nonsense", status=REFUSED)


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
    stored = tmp_path / ".config" / "culprit" / "cli.json"
    assert (
        stored.stat().st_mode & 0o777 == 0o600
        and json.loads(stored.read_text())["token"] == people["oncall"].token
    )
    assert bare.json("capture", "list") == []
    bare("host", "list", status=UNREACHABLE, CULPRIT_URL="http://127.0.0.1:9")
    bare("login", server_url, "--token", "culprit_wrong", status=NOT_LOGGED_IN)
    with unit_of_work(db.sessions) as session:
        session.add(UserAccount(name="ada", role="viewer", password_hash=hash_password("a long password")))
    bare("login", server_url, "--name", "ada", stdin="a long password\n")
    assert json.loads(stored.read_text())["token"].startswith("culprit_")
    assert bare.json("host", "list") == []
    bare("login", server_url, "--name", "ada", stdin="wrong\n", status=NOT_LOGGED_IN)


def test_help_and_wrong_usage(cli: Cli) -> None:
    for words in (("--help",), ("host", "--help"), ("capture", "create", "--help")):
        assert "Usage" in cli(*words)
    assert cli("version").strip()
    cli("nonsense", status=USAGE)
    cli("host", "add", status=USAGE)
