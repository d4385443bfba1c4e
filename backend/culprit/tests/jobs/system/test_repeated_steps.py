"""A periodic step survives any exception; a step of the scheduler does not delay the others."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from culprit.infra.settings import get_settings
from culprit.jobs.system.heartbeats import touch_alive_file
from culprit.server import scheduler, worker
from culprit.server.scheduler import Scheduler


class Fragile(worker.PeriodicStep):
    """Fail at the first call, and record the second."""

    every_s = 0.01

    def __init__(self) -> None:
        super().__init__(SimpleNamespace(steps=[]))
        self.calls = 0
        self.called_again = threading.Event()

    def run_once(self) -> None:
        self.calls += 1
        if self.calls == 1:
            raise ValueError("a bug")
        self.called_again.set()


def test_a_repeated_step_survives_an_unexpected_exception() -> None:
    step = Fragile()
    step.start(None)
    try:
        assert step.called_again.wait(10)
    finally:
        step.stop(None)


def test_a_step_of_the_scheduler_that_fails_does_not_keep_the_others_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[str] = []

    def fail(*_: Any) -> None:
        called.append("sweep")
        raise ValueError("a bug")

    monkeypatch.setattr(scheduler, "record_heartbeat", lambda *_: called.append("heartbeat"))
    monkeypatch.setattr(scheduler, "run_sweep", fail)
    monkeypatch.setattr(scheduler, "get_event_publisher", lambda: None)
    monkeypatch.setattr(scheduler, "artifact_store", lambda: None)
    monkeypatch.setattr(scheduler, "start_all_due", lambda *_: called.append("start_all_due"))
    monkeypatch.setattr(scheduler, "sync_annotations", lambda *_: called.append("annotations"))
    no_engine: Any = None
    Scheduler(no_engine, no_engine).tick()
    assert called == ["heartbeat", "sweep", "start_all_due", "annotations"]


def test_the_alive_file_is_touched_and_its_absence_harms_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "alive"
    monkeypatch.setenv("CULPRIT_ALIVE_FILE", str(file))
    get_settings.cache_clear()
    try:
        touch_alive_file()
        os.utime(file, (1, 1))
        touch_alive_file()
        assert file.stat().st_mtime > 1
        monkeypatch.setenv("CULPRIT_ALIVE_FILE", str(tmp_path / "none" / "alive"))
        get_settings.cache_clear()
        touch_alive_file()
    finally:
        get_settings.cache_clear()
