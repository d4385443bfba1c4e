"""Stages of journeys: one that fails hides no other, but for the first visit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from culprit.launch.checks import again, journeys
from culprit.launch.checks.outcome import Case, Outcome
from culprit.launch.checks.round import Round
from culprit.launch.progress import Progress

Asked = list[tuple[str, tuple[str, ...]]]


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """Stages are not run: those that are named fail."""

    def prepare(*bad: str) -> Asked:
        asked: Asked = []

        def stage(
            round_: Round,
            name: str,
            projects: Sequence[str],
            specs: Sequence[str],
            environment: Mapping[str, str],
        ) -> Outcome:
            asked.append((name, tuple(specs)))
            assert projects and environment == {"CI": "1"}
            state = "failed" if name in bad else "passed"
            return Outcome(**{state: 1}, cases=[Case(f"{name}.spec.ts::a", state)])

        monkeypatch.setattr(journeys, "playwright", stage)
        return asked

    return prepare


def visits(tmp_path: Path, *specs: str) -> Outcome:
    return journeys.visits(Round(tmp_path, False, Progress()), specs, {"CI": "1"})


def test_a_journey_that_fails_hides_no_other(stages: Callable[..., Asked], tmp_path: Path) -> None:
    asked = stages("journeys")
    found = visits(tmp_path)
    assert [name for name, _ in asked] == ["first-visit", "journeys", "beside"]
    assert (found.passed, found.failed) == (2, 1)


def test_without_the_first_visit_nobody_can_sign_in(stages: Callable[..., Asked], tmp_path: Path) -> None:
    asked = stages("first-visit")
    found = visits(tmp_path)
    assert [name for name, _ in asked] == ["first-visit"]
    assert "no other journey" in found.refused
    named = {case.id: [case.state, ""] for case in found.cases}
    assert again.failed_files({"cases": named, "failed": found.failed}) == [], "again, it is the whole phase"


def test_one_journey_alone_has_its_first_visit(stages: Callable[..., Asked], tmp_path: Path) -> None:
    asked = stages()
    left = tmp_path / "e2e" / "session.json"
    left.parent.mkdir()
    left.write_text("{}", "utf-8")
    assert visits(tmp_path, "e2e/tests/reports.spec.ts").failed == 0
    wanted = ("reports.spec.ts",)
    assert asked == [("first-visit", ()), ("journeys", wanted), ("beside", wanted)]
    assert not left.exists(), "nobody signs in with what an earlier round left"
    asked.clear()
    visits(tmp_path, "e2e/tests/first-visit.spec.ts")
    assert asked == [("first-visit", ())]


def test_every_project_belongs_to_a_stage() -> None:
    config = (journeys.E2E / "playwright.config.ts").read_text("utf-8")
    named = [journeys.FIRST, *(project for projects in journeys.STAGES.values() for project in projects)]
    assert [line for line in config.splitlines() if "name: " in line] == [
        line for project in named for line in config.splitlines() if f'name: "{project}"' in line
    ]


@pytest.mark.parametrize(("code", "failed"), [(0, 0), (1, 1)])
def test_a_stage_without_any_of_the_files_is_no_failure(tmp_path: Path, code: int, failed: int) -> None:
    round_ = Round(tmp_path, False, Progress())
    command = ["sh", "-c", f"exit {code}"]
    assert round_.runner("none", tmp_path / "none.xml", command, may_be_empty=True).failed == failed
    assert round_.runner("none", tmp_path / "none.xml", command).failed == 1
