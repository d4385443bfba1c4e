"""Demo load: only on the added local host, once at a time, bounded, and ended with the platform."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from culprit.hosts.demo_load import LOADS
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.settings import REPOSITORY, Settings

API = "/api/v1"


def group(pid: int) -> list[int]:
    """The processes of a process group, the zombies left out."""
    results = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, pgrp = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:3]
        except (OSError, IndexError, ValueError):
            continue
        if entry.name.isdigit() and int(pgrp) == pid and state != "Z":
            results.append(int(entry.name))
    return results


def wait_until(holds, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def this_host(config: Settings, db: Database) -> str:
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="c", kind="agent")
        session.add(credential)
        session.flush()
        host = Host(
            name="here",
            address="127.0.0.1",
            username="u",
            credential_id=credential.id,
            labels={"role": "feed"},
        )
        session.add(host)
        session.flush()
        (config.home / "this-host").write_text(str(host.id))
        return str(host.id)


def test_it_runs_niced_in_its_own_group_and_ends_with_the_application(this_host: str, as_, app) -> None:
    answer = as_("investigator").post(f"{API}/demo/load", json={"seconds": 30})
    assert answer.status_code == 202 and answer.json() == {"host_id": this_host, "seconds": 30}
    process = app.state.demo_load._process
    assert os.getpgid(process.pid) == process.pid != os.getpgrp()
    wait_until(lambda: len(group(process.pid)) == len(LOADS) + 1)
    gentler = min(os.nice(0) + 10, 19)
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in group(process.pid)} == {gentler}
    again = as_("admin").post(f"{API}/demo/load", json={"seconds": 1})
    assert again.status_code == 409 and again.json()["key"] == "demo.already_running"
    app.state.demo_load.stop()
    wait_until(lambda: not group(process.pid))


def test_it_ends_by_itself_and_can_be_started_again(this_host: str, as_, app) -> None:
    for _ in range(2):
        assert as_("admin").post(f"{API}/demo/load", json={"seconds": 1}).status_code == 202
        process = app.state.demo_load._process
        assert process.wait(60) == 0
        assert not group(process.pid)
    app.state.demo_load.stop()


@pytest.mark.parametrize("seconds", [0, 31, -1, "x", None])
def test_it_is_bounded(this_host: str, as_, seconds: object) -> None:
    assert as_("admin").post(f"{API}/demo/load", json={"seconds": seconds}).status_code == 422


def test_not_for_viewers_not_elsewhere_and_not_out_of_scope(
    config: Settings, db: Database, as_, this_host: str
) -> None:
    assert as_("viewer").post(f"{API}/demo/load", json={}).status_code == 403
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, this_host).labels = {"role": "ads"}
    assert as_("scoped").post(f"{API}/demo/load", json={}).status_code == 404
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, this_host).state = "retired"
    assert as_("admin").post(f"{API}/demo/load", json={}).json()["key"] == "demo.no_such_host"
    (config.home / "this-host").unlink()
    assert as_("admin").post(f"{API}/demo/load", json={}).json()["key"] == "demo.no_such_host"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_whichever_way_it_or_its_parent_dies(how: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "culprit.hosts.demo_load", "30"],
        stdin=subprocess.PIPE, cwd=REPOSITORY / "backend", start_new_session=True,
    )  # fmt: skip
    wait_until(lambda: len(group(process.pid)) > 1)
    process.send_signal(how)
    process.wait(30)
    wait_until(lambda: not group(process.pid))
    process.stdin.close()


def test_a_closed_pipe_ends_it() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "culprit.hosts.demo_load", "30"],
        stdin=subprocess.PIPE, cwd=REPOSITORY / "backend", start_new_session=True,
    )  # fmt: skip
    wait_until(lambda: len(group(process.pid)) > 1)
    process.stdin.close()
    assert process.wait(30) == 0
    wait_until(lambda: not group(process.pid))
