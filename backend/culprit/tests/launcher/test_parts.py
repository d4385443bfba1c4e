"""Restarts of a part, the state failed, and the description of its end."""

from __future__ import annotations

import signal
import time

import pytest
from culprit.launcher.supervision import parts
from culprit.launcher.supervision.parts import SupervisedPart, describe_end


def test_pauses_grow_up_to_a_bound() -> None:
    part, pauses = SupervisedPart("api"), []
    for _ in range(parts.MAX_FAILURES - 1):
        assert part.record_end(1, []) == "ended"
        pauses.append(round((part.start_at or 0) - time.monotonic(), 1))
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert max(pauses) <= parts.MAX_PAUSE_S


def test_part_is_disabled_after_failures_and_retried_later() -> None:
    part = SupervisedPart("valkey")
    changes = [part.record_end(-9, ["last words"]) for _ in range(parts.MAX_FAILURES)]
    assert changes == ["ended"] * (parts.MAX_FAILURES - 1) + ["given_up"]
    assert part.state == "failed"
    assert (part.start_at or 0) - time.monotonic() == pytest.approx(parts.RETRY_FAILED_S, abs=5)
    assert part.as_json()["log"] == ["last words"]
    part.reset_failures()
    assert part.state == "restarting" and (part.start_at or 0) <= time.monotonic()


def test_failures_long_ago_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    part, clock = SupervisedPart("scheduler"), [1000.0]
    monkeypatch.setattr(parts.time, "monotonic", lambda: clock[0])
    for _ in range(3 * parts.MAX_FAILURES):
        assert part.record_end(0, []) == "ended"
        clock[0] += parts.FAILURE_WINDOW_S / (parts.MAX_FAILURES - 1)


def test_counters_are_reset_after_a_healthy_period(monkeypatch: pytest.MonkeyPatch) -> None:
    part, clock = SupervisedPart("scheduler"), [1000.0]
    monkeypatch.setattr(parts.time, "monotonic", lambda: clock[0])
    part.record_end(1, [])
    part.record_start()
    part.reset_failures_when_healthy()
    assert part.failures
    clock[0] += parts.HEALTHY_S + 1
    part.reset_failures_when_healthy()
    assert not part.failures


def test_the_end_names_the_signal_and_the_likely_killer() -> None:
    assert describe_end(0) == "exited with code 0"
    assert describe_end(-signal.SIGSEGV) == "killed by SIGSEGV"
    assert "memory" in describe_end(-signal.SIGKILL)
    part = SupervisedPart("api")
    part.record_end(-signal.SIGKILL, [], is_out_of_memory=True)
    assert "out of memory" in part.reason and part.as_json()["out_of_memory"]
    part.record_end(-signal.SIGTERM, [], is_out_of_memory=True)
    assert part.reason == "killed by SIGTERM"
