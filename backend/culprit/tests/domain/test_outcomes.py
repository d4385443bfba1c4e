"""What runs and captures come to, and whether they are tried again."""

import pytest
from culprit.domain.runs.retries import AttemptHistory, compute_retry_pause_s
from culprit.domain.runs.states import CAPTURE_FINAL, RUN_FINAL, decide_capture_state, decide_run_state
from culprit.domain.runs.timeouts import compute_connect_timeout_s, compute_timeouts
from hypothesis import given
from hypothesis import strategies as st

RUN_STATES = ["queued", "running", "ingesting", "done", "partial", "failed", "canceled", "expired"]
COLLECTOR_STATES = ["queued", "done", "skipped", "failed", "timed_out", "unreadable", "canceled"]


@pytest.mark.parametrize(
    ("collectors", "failed", "state"),
    [
        (["done", "done"], False, "done"),
        (["done", "skipped"], False, "done"),
        (["done", "failed"], False, "partial"),
        (["done", "unreadable"], False, "partial"),
        (["timed_out"], False, "partial"),
        (["done"], True, "partial"),
        (["skipped", "skipped"], False, "failed"),
        (["failed"], False, "failed"),
        (["unreadable"], False, "failed"),
        ([], False, "failed"),
    ],
)
def test_how_a_run_ends(collectors, failed, state):
    assert decide_run_state(collectors, failed=failed, canceled=False) == state


@given(st.lists(st.sampled_from(COLLECTOR_STATES)), st.booleans(), st.booleans())
def test_decide_run_state_ends_run_and_keeps_cancellation(collectors, failed, canceled):
    state = decide_run_state(collectors, failed=failed, canceled=canceled)
    assert state in RUN_FINAL
    assert (state == "canceled") == canceled


@pytest.mark.parametrize(
    ("runs", "state"),
    [
        (["queued", "queued"], "queued"),
        (["queued", "done"], "running"),
        (["ingesting"], "running"),
        (["done", "done"], "done"),
        (["done", "failed"], "partial"),
        (["partial", "canceled"], "partial"),
        (["failed", "canceled"], "failed"),
        (["canceled", "expired"], "canceled"),
        (["expired"], "expired"),
    ],
)
def test_the_state_of_a_capture(runs, state):
    assert decide_capture_state(runs) == state


@given(st.lists(st.sampled_from(RUN_STATES), min_size=1))
def test_a_capture_is_over_when_all_its_runs_are(runs):
    assert (decide_capture_state(runs) in CAPTURE_FINAL) == all(run in RUN_FINAL for run in runs)


def tried(side, tier="light", losses=0, failures=0, begun=True, final=False):
    return AttemptHistory(side, tier, losses, failures, begun, final)


def test_a_lost_worker_leads_to_another_attempt_at_once_and_not_for_ever():
    assert compute_retry_pause_s(tried("worker", losses=1)) == 0
    assert compute_retry_pause_s(tried("worker", losses=3)) == 0
    assert compute_retry_pause_s(tried("worker", losses=4)) is None


def test_a_failure_on_the_host_is_tried_twice_more_with_growing_pauses():
    assert compute_retry_pause_s(tried("host", failures=1)) == 60
    assert compute_retry_pause_s(tried("host", failures=2)) == 120
    assert compute_retry_pause_s(tried("host", failures=3)) is None


@pytest.mark.parametrize("tier", ["deep", "ptrace"])
@pytest.mark.parametrize("side", ["worker", "host"])
def test_what_is_expensive_is_never_repeated_once_it_may_have_begun(tier, side):
    assert compute_retry_pause_s(tried(side, tier=tier, losses=1, failures=1)) is None
    assert compute_retry_pause_s(tried(side, tier=tier, losses=1, failures=1, begun=False)) is not None


def test_what_cannot_help_is_not_tried():
    assert compute_retry_pause_s(tried("host", failures=1, final=True)) is None
    assert compute_retry_pause_s(tried("user")) is None


@given(st.floats(0, 3600), st.floats(0, 100), st.floats(0, 300), st.floats(1, 600))
def test_limits_follow_the_host_up_to_its_maximum(planned, round_trip, login, most):
    limits = compute_timeouts(planned, round_trip, login, most)
    assert 0 < limits.beat_s * 2 < limits.runner_silence_s < limits.silence_s <= most
    assert planned <= limits.deadline_s < limits.total_s
    slower = compute_timeouts(planned, round_trip * 2, login * 2, most)
    assert slower.silence_s >= limits.silence_s
    assert slower.deadline_s >= limits.deadline_s
    assert compute_connect_timeout_s(round_trip, most) <= most


def test_a_dead_connection_to_a_healthy_host_is_noticed_in_twenty_seconds():
    assert compute_timeouts(30, 0.001, 0.2, 90).silence_s == 20
    assert compute_timeouts(30, 0.5, 6, 90).silence_s == 48
    assert compute_timeouts(30, 5, 60, 90).silence_s == 90
