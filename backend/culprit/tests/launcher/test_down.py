"""`down` ends remaining processes and deletes only what `up` created."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from culprit.launcher import down, state, status, up
from culprit.launcher.paths import Home
from culprit.launcher.progress import LauncherError
from culprit.launcher.supervision import child_processes
from culprit.launcher.supervision.parts import SupervisedPart


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    home = Home(tmp_path / "home")
    home.create_directories()
    monkeypatch.setenv("CULPRIT_HOME", str(home.path))
    return home


def test_nothing_runs(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert down.stop_platform([]) == 0
    assert status.print_status([]) == 3
    assert "not running" in capsys.readouterr().out
    assert home.path.exists()


def test_purge_removes_files_of_up(home: Home) -> None:
    up.ensure_secret_key(home.secret_key)
    with state.hold_lock(home) or pytest.fail("the lock must be free"):
        pass
    assert down.stop_platform(["--purge"]) == 0
    assert not home.path.exists()
    assert down.stop_platform(["--purge"]) == 0


def test_purge_spares_a_directory_that_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    monkeypatch.setenv("CULPRIT_HOME", str(tmp_path))
    with pytest.raises(LauncherError, match="is not a data directory"):
        down.stop_platform(["--purge"])
    assert (tmp_path / "thesis.txt").exists()


def test_ends_what_a_dead_supervisor_left(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    child = child_processes.start_child(["sleep", "1000"])
    dead = {"pid": child.pid, "started": 1}  # the ID of a running process, but of another program
    state.write_state(
        home, {"supervisor": dead, "processes": {"api": state.describe_process(child.pid)}, "url": "x"}
    )
    assert down.stop_platform([]) == 0
    assert child.wait(10) != 0
    assert "earlier platform: api" in capsys.readouterr().out
    assert state.read_state(home) is None


def test_directory_has_a_single_platform(home: Home) -> None:
    held = state.hold_lock(home)
    assert held is not None
    assert state.hold_lock(home) is None
    held.close()
    again = state.hold_lock(home)
    assert again is not None
    again.close()


def test_second_up_is_refused_in_a_single_line(home: Home) -> None:
    state.write_state(
        home,
        {"supervisor": state.describe_process(os.getpid()), "url": "http://127.0.0.1:8040", "processes": {}},
    )
    with pytest.raises(LauncherError, match=r"already running at http://127\.0\.0\.1:8040") as refusal:
        up.require_not_running(home)
    assert "\n" not in str(refusal.value)


def test_status_lists_running_and_stopped_parts(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone_entry = state.describe_process(gone.pid)
    gone.wait()
    entries = {"api": state.describe_process(os.getpid()), "scheduler": gone_entry}
    state.write_state(
        home, {"supervisor": state.describe_process(os.getpid()), "url": "http://x", "processes": entries}
    )
    assert status.print_status([]) == 1
    table = capsys.readouterr().out.split("\n\n")[1]
    rows = {line.split()[0]: line.split() for line in table.splitlines()}
    assert rows["api"][1:3] == ["ok", str(os.getpid())]
    assert rows["scheduler"][1:3] == ["not_running", "-"]
    assert status.print_status(["--json"]) == 1
    parts = {row["part"]: row for row in json.loads(capsys.readouterr().out)["parts"]}
    assert parts["api"]["memory_bytes"] > 1 << 20
    assert parts["scheduler"]["pid"] is None


def test_status_prints_failed_part_with_reason_and_last_lines(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    part = SupervisedPart("scheduler", restarts=5)
    for _ in range(6):
        part.record_end(1, ["Traceback", "MemoryError"])
    document = {"supervisor": state.describe_process(os.getpid()), "url": "http://x", "processes": {}}
    state.write_state(home, document | {"parts": {"scheduler": part.as_json()}})
    assert status.print_status([]) == 1
    out = capsys.readouterr().out
    assert "scheduler is failed since" in out and "exited with code 1" in out
    assert "  | MemoryError" in out and "./culprit retry" in out


def test_secret_key_is_created_once_and_readable_by_owner(tmp_path: Path) -> None:
    path = up.ensure_secret_key(tmp_path / "secret.key")
    first = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert up.ensure_secret_key(path).read_bytes() == first


def test_workers_of_nothing(home: Home) -> None:
    with pytest.raises(LauncherError, match="not running"):
        down.stop_worker(["stop"])


def test_sockets_of_a_killed_platform_are_removed(home: Home, tmp_path: Path) -> None:
    left, other = tmp_path / "culprit-abc", tmp_path / "somebody-elses"
    for place in (left, other):
        place.mkdir()
    state.write_state(home, {"sockets": [str(left), str(other)], "processes": {}, "url": "x"})
    state.clear_state(home)
    assert not left.exists()
    assert other.exists()
