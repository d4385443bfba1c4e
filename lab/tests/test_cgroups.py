"""Real-time budgets of control groups, which labs share."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from lab.cgroups import REAL_TIME_BUDGET, destroy_groups, take_budget


class BudgetFile(type(Path())):  # type: ignore[misc]
    """A file of a group, which refuses what is written with each error of `refusals`."""

    refusals: list[int]

    def write_text(self, data: str, *arguments: object, **options: object) -> int:
        """Raise the next error, or write."""
        if self.refusals:
            raise OSError(self.refusals.pop(0), "refused")
        return int(super().write_text(data))


def _create_group(folder: Path, name: str, budget: str, refusals: list[int]) -> BudgetFile:
    (folder / name).mkdir(parents=True)
    file = BudgetFile(folder / name / REAL_TIME_BUDGET)
    file.refusals = []
    file.write_text(budget)
    file.refusals = refusals
    return file


def test_take_budget_waits_until_another_group_returns_it(tmp_path: Path) -> None:
    file = _create_group(tmp_path, "web-2", "0", [errno.EINVAL, errno.EINVAL])
    take_budget(file, "950000")
    assert file.read_text() == "950000"


def test_take_budget_names_the_groups_that_keep_it(tmp_path: Path) -> None:
    _create_group(tmp_path, "web-1", "950000", [])
    _create_group(tmp_path, "web-3", "0", [])
    file = _create_group(tmp_path, "web-2", "0", [errno.EINVAL])
    with pytest.raises(RuntimeError, match=r"have the real-time budget: web-1$"):
        take_budget(file, "950000", wait_s=0.0)


def test_take_budget_does_not_wait_for_what_time_does_not_change(tmp_path: Path) -> None:
    file = _create_group(tmp_path, "web-2", "0", [errno.EACCES, errno.EINVAL])
    with pytest.raises(OSError, match="refused"):
        take_budget(file, "950000")
    assert file.refusals == [errno.EINVAL]


def test_destroyed_groups_give_their_budget_back_before_they_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These groups are folders with files, which rmdir keeps, so what was written is still there.
    outer = _create_group(tmp_path, "web-1", "950000", [])
    inner = _create_group(tmp_path / "web-1", "feed", "950000", [])
    for file in (outer, inner):
        (Path(file.parent) / "cgroup.procs").touch()
    monkeypatch.setattr("lab.cgroups.REMOVE_S", 1.0)
    destroy_groups([tmp_path / "web-1"])
    assert (outer.read_text(), inner.read_text()) == ("0", "0")
