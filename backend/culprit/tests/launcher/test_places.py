"""Directories of engines: another user cannot redirect a change of owner or mode."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from culprit.launcher.engines import engine_paths

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


def test_own_directory_replaced_meanwhile_gives_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other user replaces the directory by a link to a file of root right after the check."""
    other = pwd.getpwnam("nobody")
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    path = tmp_path / "engine"
    path.mkdir()
    os.chown(path, other.pw_uid, other.pw_gid)
    seen = os.lstat(path)

    def swap() -> None:
        if not os.path.islink(path):  # noqa: PTH114 - Path.lstat is replaced here
            path.rmdir()
            path.symlink_to(victim)

    lstat, fstat = Path.lstat, os.fstat

    def lstat_and_swap(self: Path) -> os.stat_result:
        result = lstat(self)
        if self == path:
            swap()
        return result

    def fstat_and_swap(handle: int) -> os.stat_result:
        result = fstat(handle)
        if result.st_ino == seen.st_ino:
            swap()
        return result

    monkeypatch.setattr(Path, "lstat", lstat_and_swap)
    monkeypatch.setattr(os, "fstat", fstat_and_swap)
    engine_paths.create_directory(path, 0o755, other)
    monkeypatch.undo()
    assert path.is_symlink()
    assert (victim.stat().st_uid, victim.stat().st_mode & 0o777) == (0, 0o700)


def test_own_directory_refuses_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir(mode=0o700)
    (tmp_path / "engine").symlink_to(tmp_path / "victim")
    with pytest.raises(PermissionError):
        engine_paths.create_directory(tmp_path / "engine", 0o755)
    assert (tmp_path / "victim").stat().st_mode & 0o777 == 0o700
