"""Schedulers are killed while they read stored files; the next ones continue and report the altered file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from culprit.infra.artifacts.store import DirectoryStore, artifact_store
from culprit.infra.db.session import Database
from culprit.infra.settings import Settings
from culprit.tests.jobs.system.test_check_files import list_due, load_reasons, store_files, write_stored
from culprit.tests.support.product_process import ProductProcess

pytestmark = pytest.mark.long(30)
FILES = 60


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def test_schedulers_continue_after_a_kill(db: Database, config: Settings, tmp_path: Path) -> None:
    store = artifact_store()
    assert isinstance(store, DirectoryStore)
    contents = store_files(db, store, FILES, size=1 << 20)
    altered = min(contents)
    write_stored(store, altered, contents[altered][:-1] + b"\0\0", tmp_path)
    killed = ProductProcess("scheduler", stdout=tmp_path / "log")
    wait_until(lambda: len(list_due(db)) < FILES)
    killed.kill()
    killed.wait()
    left = len(list_due(db))
    assert 0 < left < FILES
    schedulers = [ProductProcess("scheduler", stdout=tmp_path / "log") for _ in range(2)]
    try:
        wait_until(lambda: not list_due(db))
    finally:
        for process in schedulers:
            process.stop()
    assert load_reasons(db) == {altered: "altered"}
    assert [process.poll() for process in schedulers] == [0, 0]
    log = (tmp_path / "log").read_text("utf-8")
    assert "stored_file_altered" in log and altered in log and "file_check_failed" not in log
