"""`down` ends what is left and removes nothing that `up` did not make."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from culprit.launch import children, down, state, status, up
from culprit.launch.parts import Part
from culprit.launch.paths import Home
from culprit.launch.progress import Refusal


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path / "home")
    made.make()
    monkeypatch.setenv("CULPRIT_HOME", str(made.path))
    return made


def test_nothing_runs(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert down.down([]) == 0
    assert status.status([]) == 3
    assert "not running" in capsys.readouterr().out
    assert home.path.exists()


def test_purge_removes_what_up_made(home: Home) -> None:
    up.secret_key(home.secret_key)
    with state.hold(home) or pytest.fail("nobody else holds it"):
        pass
    assert down.down(["--purge"]) == 0
    assert not home.path.exists()
    assert down.down(["--purge"]) == 0


def test_purge_spares_a_directory_that_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    monkeypatch.setenv("CULPRIT_HOME", str(tmp_path))
    with pytest.raises(Refusal, match="does not look like"):
        down.down(["--purge"])
    assert (tmp_path / "thesis.txt").exists()


def test_ends_what_a_dead_supervisor_left(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    child = children.start(["sleep", "1000"])
    dead = {"pid": child.pid, "started": 1}  # the number of a living process, but another one
    state.write(home, {"supervisor": dead, "processes": {"api": state.process(child.pid)}, "url": "x"})
    assert down.down([]) == 0
    assert child.wait(10) != 0
    assert "had left: api" in capsys.readouterr().out
    assert state.read(home) is None


def test_one_platform_per_directory(home: Home) -> None:
    held = state.hold(home)
    assert held is not None
    assert state.hold(home) is None
    held.close()
    again = state.hold(home)
    assert again is not None
    again.close()


def test_a_second_up_is_told_in_one_line(home: Home) -> None:
    state.write(home, {"supervisor": state.own_process(), "url": "http://127.0.0.1:8040", "processes": {}})
    with pytest.raises(Refusal, match=r"running already at http://127\.0\.0\.1:8040") as refusal:
        up.refuse_second(home)
    assert "\n" not in str(refusal.value)


def test_what_runs_is_told_with_what_does_not(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone_entry = state.process(gone.pid)
    gone.wait()
    entries = {"api": state.own_process(), "scheduler": gone_entry}
    state.write(home, {"supervisor": state.own_process(), "url": "http://x", "processes": entries})
    assert status.status([]) == 1
    table = capsys.readouterr().out.split("\n\n")[1]
    rows = {line.split()[0]: line.split() for line in table.splitlines()}
    assert rows["api"][1:3] == ["ok", str(os.getpid())]
    assert rows["scheduler"][1:3] == ["not_running", "-"]
    assert status.status(["--json"]) == 1
    parts = {row["part"]: row for row in json.loads(capsys.readouterr().out)["parts"]}
    assert parts["api"]["memory_bytes"] > 1 << 20
    assert parts["scheduler"]["pid"] is None


def test_a_failed_part_is_shown_with_its_reason_and_its_last_lines(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    part = Part("scheduler", restarts=5)
    for _ in range(6):
        part.record_end(1, ["Traceback", "MemoryError"])
    document = {"supervisor": state.own_process(), "url": "http://x", "processes": {}}
    state.write(home, document | {"parts": {"scheduler": part.as_json()}})
    assert status.status([]) == 1
    said = capsys.readouterr().out
    assert "scheduler is failed since" in said and "ended by itself with exit code 1" in said
    assert "  | MemoryError" in said and "./culprit retry" in said


def test_the_secret_key_is_made_once_for_its_owner(tmp_path: Path) -> None:
    path = up.secret_key(tmp_path / "secret.key")
    first = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert up.secret_key(path).read_bytes() == first


def test_workers_of_nothing(home: Home) -> None:
    with pytest.raises(Refusal, match="not running"):
        down.worker(["stop"])


def test_sockets_of_a_killed_platform_are_removed(home: Home, tmp_path: Path) -> None:
    left, other = tmp_path / "culprit-abc", tmp_path / "somebody-elses"
    for place in (left, other):
        place.mkdir()
    state.write(home, {"sockets": [str(left), str(other)], "processes": {}, "url": "x"})
    state.clear(home)
    assert not left.exists()
    assert other.exists()
