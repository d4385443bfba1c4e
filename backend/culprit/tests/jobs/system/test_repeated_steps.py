"""A step that is repeated survives any exception; a step of the scheduler does not keep the others back."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from culprit import scheduler, worker
from culprit.config import settings
from culprit.scheduler import Scheduler
from culprit.workflows.worker_states import touch_alive_file


class Fragile(worker.Repeated):
    """Fails the first time, and shows that it was called again."""

    every_s = 0.01

    def __init__(self) -> None:
        super().__init__(SimpleNamespace(steps=[]))
        self.calls = 0
        self.called_again = threading.Event()

    def once(self) -> None:
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

    monkeypatch.setattr(scheduler, "seen", lambda *_: called.append("seen"))
    monkeypatch.setattr(scheduler, "sweep", fail)
    monkeypatch.setattr(scheduler, "publisher", lambda: None)
    monkeypatch.setattr(scheduler, "artifact_store", lambda: None)
    monkeypatch.setattr(scheduler, "fire_due", lambda *_: called.append("fire_due"))
    monkeypatch.setattr(scheduler, "survey", lambda *_: called.append("survey"))
    no_engine: Any = None
    Scheduler(no_engine, no_engine).tick()
    assert called == ["seen", "sweep", "fire_due", "survey"]


def test_the_alive_file_is_touched_and_its_absence_harms_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "alive"
    monkeypatch.setenv("CULPRIT_ALIVE_FILE", str(file))
    settings.cache_clear()
    try:
        touch_alive_file()
        os.utime(file, (1, 1))
        touch_alive_file()
        assert file.stat().st_mtime > 1
        monkeypatch.setenv("CULPRIT_ALIVE_FILE", str(tmp_path / "none" / "alive"))
        settings.cache_clear()
        touch_alive_file()
    finally:
        settings.cache_clear()
