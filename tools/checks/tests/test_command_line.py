"""`./culprit test`: which sessions run with which arguments, and in which order the journeys run."""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path

import pytest
from culprit.launcher.paths import ROOT

from tools.checks import __main__ as command_line
from tools.checks import e2e


def options(**supplied: object) -> argparse.Namespace:
    return argparse.Namespace(
        **({"paths": [], "full": False, "only": None, "rerun_failed": False} | supplied)
    )


@pytest.mark.parametrize(
    ("path", "session"),
    [
        ("backend/culprit/tests/test_migrations.py::test_x", "server"),
        ("collectors/tests", "server"),
        ("lab/tests", "server"),
        ("frontend/src/core/time/clock.test.ts", "frontend"),
        ("frontend/src/core", "frontend"),
        ("e2e/tests/first-visit.spec.ts", "e2e"),
    ],
)
def test_session_of_finds_the_runner_of_a_path(path: str, session: str) -> None:
    assert command_line.session_of(path) == session


def test_plan_runs_groups_paths_by_session() -> None:
    paths = ["collectors/tests", "e2e/tests/first-visit.spec.ts", "lab/tests"]
    runs = command_line.plan_runs(options(paths=paths, full=True))
    assert runs == {
        ("server",): ["--full", "collectors/tests", "lab/tests"],
        ("e2e",): ["--full", "e2e/tests/first-visit.spec.ts"],
    }
    assert command_line.plan_runs(options(only=["lint"])) == {("lint",): []}
    assert command_line.plan_runs(options()) == {command_line.SESSIONS: []}


def test_rerun_failed_takes_the_sessions_of_the_last_report(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command_line, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="no test results"):
        command_line.plan_runs(options(rerun_failed=True))
    for name, result in (("lint", "success"), ("server", "failed")):
        report = {"sessions": [{"name": name, "result": result}]}
        (tmp_path / f"nox-{name}.json").write_text(json.dumps(report))
    assert command_line.plan_runs(options(rerun_failed=True)) == {("server",): ["--rerun-failed"]}


@pytest.mark.parametrize("broken", ["-", "format", "lab", "server"])
def test_whole_run_fails_with_each_of_its_parts(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    nox = tmp_path / "bin" / "nox"
    nox.parent.mkdir()
    nox.write_text(
        '#!/bin/sh\nwhile [ "$1" != --sessions ]; do shift; done\n'
        'echo "ran $2 with policy $(chrt -p $$ | sed -n "s/.*policy: //p") timeouts ${CULPRIT_TEST_TIMEOUT_FACTOR-1}"\n'
        f'[ "$2" != "{broken}" ]\n'
    )
    nox.chmod(0o755)
    monkeypatch.setattr(command_line, "RESULTS", tmp_path)
    monkeypatch.setattr(command_line, "VENV", tmp_path)
    assert (command_line.run_all([]) == 0) is (broken == "-")
    ran = re.findall(r"ran (\S+) with policy (\S+) timeouts (\d)", capfd.readouterr().out)
    assert sorted(ran) == [
        ("format", "SCHED_IDLE", "5"),
        ("lab", "SCHED_OTHER", "1"),
        ("server", "SCHED_OTHER", "1"),
    ]
    assert ran[-1][0] == "server"


def test_an_unknown_path_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["no/such/test.py"]) == 2
    assert "no such test file: no/such/test.py" in capsys.readouterr().err


def test_sessions_are_those_of_the_noxfile() -> None:
    text = (ROOT / "noxfile.py").read_text("utf-8")
    functions = re.findall(r"^@nox\.session(?:\(name=\"(\w+)\"\))?\ndef (\w+)", text, re.M)
    assert tuple(name or function for name, function in functions) == command_line.SESSIONS


def test_every_project_belongs_to_a_stage() -> None:
    config = (ROOT / "e2e" / "playwright.config.ts").read_text("utf-8")
    projects = set(re.findall(r"name: \"([^\"]+)\"", config))
    assert projects == {project for stage in e2e.STAGES.values() for project in stage}


def test_single_journey_runs_after_the_first_visit(tmp_path: Path) -> None:
    assert e2e.list_stages([e2e.FIRST_SPEC]) == [e2e.FIRST_STAGE]
    assert e2e.list_stages(["reports.spec.ts"]) == list(e2e.STAGES)
    first = e2e.stage_arguments(e2e.FIRST_STAGE, tmp_path, ["reports.spec.ts"])
    assert not any("reports" in argument for argument in first)
    others = e2e.stage_arguments("journeys", tmp_path, ["reports.spec.ts"])
    assert {"--no-deps", "--pass-with-no-tests", r"/reports\.spec\.ts$"} <= set(others)


@pytest.mark.parametrize(
    ("broken", "failed", "started"),
    [
        ("-", [], ["first-visit", "alone", "everywhere", "faulty-hosts", "hostile", "journeys"]),
        (
            "journeys",
            ["journeys"],
            ["first-visit", "alone", "everywhere", "faulty-hosts", "hostile", "journeys"],
        ),
        (
            "faulty-hosts",
            ["faulty-hosts"],
            ["first-visit", "alone", "everywhere", "faulty-hosts", "hostile", "journeys"],
        ),
        ("first-visit", ["first-visit"], ["first-visit"]),
    ],
)
def test_failed_stage_keeps_only_what_needs_it_from_running(
    broken: str,
    failed: list[str],
    started: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    runner = tmp_path / "node_modules" / ".bin" / "playwright"
    runner.parent.mkdir(parents=True)
    runner.write_text(
        '#!/bin/sh\nstage=$(basename "$PLAYWRIGHT_JUNIT_OUTPUT_FILE" .xml)\necho "ran $stage"\n'
        f'[ "$stage" != "e2e-{broken}" ]\n'
    )
    runner.chmod(0o755)
    monkeypatch.setattr(e2e, "E2E", tmp_path)
    assert e2e.run_stages(tmp_path, [], [], os.environ) == failed
    order = re.findall(r"ran e2e-(\S+)", capfd.readouterr().out)
    assert [order[0], *sorted(order[1:])] == started
    assert len(order) == 1 or order[-2:] == ["alone", "hostile"]
