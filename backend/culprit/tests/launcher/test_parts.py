"""When a part is restarted, when it is given up, and what is said about its end."""

from __future__ import annotations

import signal
import time

import pytest
from culprit.launch import parts
from culprit.launch.parts import Part, describe_end


def test_pauses_grow_up_to_a_bound() -> None:
    part, pauses = Part("api"), []
    for _ in range(parts.FAILURES_MAX - 1):
        assert part.record_end(1, []) == "ended"
        pauses.append(round((part.start_at or 0) - time.monotonic(), 1))
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert max(pauses) <= parts.LONGEST_PAUSE_S


def test_given_up_after_failures_within_the_window_and_tried_again_later() -> None:
    part = Part("valkey")
    changes = [part.record_end(-9, ["last words"]) for _ in range(parts.FAILURES_MAX)]
    assert changes == ["ended"] * (parts.FAILURES_MAX - 1) + ["given_up"]
    assert part.state == "failed"
    assert (part.start_at or 0) - time.monotonic() == pytest.approx(parts.RETRY_FAILED_S, abs=5)
    assert part.as_json()["log"] == ["last words"]
    part.forget_failures()
    assert part.state == "restarting" and (part.start_at or 0) <= time.monotonic()


def test_failures_long_ago_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    part, clock = Part("scheduler"), [1000.0]
    monkeypatch.setattr(parts.time, "monotonic", lambda: clock[0])
    for _ in range(3 * parts.FAILURES_MAX):
        assert part.record_end(0, []) == "ended"
        clock[0] += parts.FAILURE_WINDOW_S / (parts.FAILURES_MAX - 1)


def test_counters_are_reset_after_a_healthy_period(monkeypatch: pytest.MonkeyPatch) -> None:
    part, clock = Part("scheduler"), [1000.0]
    monkeypatch.setattr(parts.time, "monotonic", lambda: clock[0])
    part.record_end(1, [])
    part.record_start()
    part.forget_failures_when_healthy()
    assert part.failures
    clock[0] += parts.HEALTHY_S + 1
    part.forget_failures_when_healthy()
    assert not part.failures


def test_the_end_names_the_signal_and_the_likely_killer() -> None:
    assert describe_end(0) == "ended by itself with exit code 0"
    assert describe_end(-signal.SIGSEGV) == "killed by SIGSEGV"
    assert "memory" in describe_end(-signal.SIGKILL)
    part = Part("api")
    part.record_end(-signal.SIGKILL, [], is_out_of_memory=True)
    assert "out of memory" in part.reason and part.as_json()["out_of_memory"]
    part.record_end(-signal.SIGTERM, [], is_out_of_memory=True)
    assert part.reason == "killed by SIGTERM"
