"""Selection of the compared windows of a start, rating of judgments as false or missed, and counts in the table."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest

from bench.verification.pairs import (
    ADDED,
    BEFORE_AFTER,
    IN_TURNS,
    REMOVED,
    UNHARMED_SUFFIX,
    Phase,
    PlayedPair,
    PlayedStart,
    count_independent,
    count_stored,
    has_harm,
    load_start,
    plan_pairs,
    render_table,
    select_harm_number,
)

WELL = {"requests": 1000.0, "ok": 1000.0, "errors": 0.0, "timeouts": 0.0, "p50_ms": 5.0, "p99_ms": 20.0}
SLOW = WELL | {"p50_ms": 200.0, "p99_ms": 900.0}
TAIL = WELL | {"p99_ms": 80.0}
REFUSED = WELL | {"ok": 700.0, "errors": 300.0}
SILENT = WELL | {"ok": 0.0, "timeouts": 1000.0, "p50_ms": math.nan, "p99_ms": math.nan}


def list_phases(turns: int, windows: int, unhealthy=SLOW) -> list[Phase]:
    return [
        Phase(turn % 2 == 0, [f"{turn}.{at}" for at in range(windows)], WELL if turn % 2 else unhealthy)
        for turn in range(turns)
    ]


def make_pair(changed: str, outcome: str, windows: str = "abcdef", design: str = BEFORE_AFTER) -> PlayedPair:
    return PlayedPair(
        design, changed, "harm", "app.p50_ms", list(windows[:3]), list(windows[3:]), outcome, -0.5
    )


def test_unchanged_phase_serves_halves_and_turns() -> None:
    plans = plan_pairs(list_phases(1, 12), is_single=False)
    assert [(plan.design, plan.changed) for plan in plans] == [
        (BEFORE_AFTER, "nothing, unhealthy"), (IN_TURNS, "nothing, unhealthy"),
    ]  # fmt: skip
    assert plans[0].before == tuple(f"0.{at}" for at in range(6))
    assert plans[0].after == tuple(f"0.{at}" for at in range(6, 12))
    assert plans[1].before == ("0.0", "0.1", "0.2", "0.6", "0.7", "0.8")
    assert set(plans[1].before) | set(plans[1].after) == set(plans[0].before) | set(plans[0].after)


def test_four_turns_serve_changes_in_both_directions_and_in_turns() -> None:
    plans = plan_pairs(list_phases(4, 12), is_single=False)
    changed = [plan for plan in plans if not plan.changed.startswith("nothing")]
    assert [(plan.design, plan.changed) for plan in changed] == [
        (BEFORE_AFTER, REMOVED), (BEFORE_AFTER, ADDED), (BEFORE_AFTER, REMOVED), (IN_TURNS, REMOVED),
    ]  # fmt: skip
    assert len(plans) == 4 * 2 + 4
    assert changed[1].before == tuple(f"1.{at}" for at in range(12))
    assert {run[0] for run in changed[3].before} == {"0", "2"}
    assert {run[0] for run in changed[3].after} == {"1", "3"}


def test_single_readings_are_compared_over_whole_phases_and_turns_only() -> None:
    plans = plan_pairs(list_phases(2, 12), is_single=True)
    assert {(plan.design, plan.changed) for plan in plans} == {
        (IN_TURNS, "nothing, unhealthy"), (IN_TURNS, "nothing, healthy"), (BEFORE_AFTER, REMOVED),
    }  # fmt: skip
    assert all(min(len(plan.before), len(plan.after)) >= 5 for plan in plans)


def test_sides_with_too_few_windows_are_not_compared() -> None:
    assert [plan.changed for plan in plan_pairs(list_phases(2, 4), is_single=False)] == [REMOVED]
    assert not plan_pairs(list_phases(1, 5), is_single=False)


@pytest.mark.parametrize(
    ("unhealthy", "is_harmed", "number"),
    [
        (SLOW, True, "app.p50_ms"),
        (TAIL, True, "app.p99_ms"),
        (REFUSED, True, "app.errors_pct"),
        (SILENT, True, "app.p50_ms"),
        (WELL | {"p99_ms": 30.0}, False, "app.p99_ms"),
    ],
)
def test_number_follows_what_clients_measure(unhealthy, is_harmed, number) -> None:
    assert has_harm(WELL, unhealthy) is is_harmed
    assert select_harm_number(WELL, unhealthy) == number


def test_change_without_harm_to_clients_proves_nothing() -> None:
    plans = plan_pairs(list_phases(2, 12, WELL), is_single=False)
    assert plans[-1].changed == REMOVED + UNHARMED_SUFFIX
    pair = make_pair(REMOVED + UNHARMED_SUFFIX, "worse")
    assert not (pair.is_false or pair.is_missed)


@pytest.mark.parametrize(
    ("changed", "outcome", "is_false", "is_missed"),
    [
        ("nothing, healthy", "verified", True, False),
        ("nothing, unhealthy", "worse", True, False),
        ("nothing, healthy", "no_conclusion", False, False),
        (REMOVED, "verified", False, False),
        (REMOVED, "worse", True, False),
        (REMOVED, "no_effect", False, True),
        (REMOVED, "no_conclusion", False, True),
        (ADDED, "worse", False, False),
        (ADDED, "verified", True, False),
        (ADDED, "no_conclusion", False, True),
    ],
)
def test_outcome_is_false_missed_or_right(changed, outcome, is_false, is_missed) -> None:
    pair = make_pair(changed, outcome)
    assert (pair.is_false, pair.is_missed) == (is_false, is_missed)


def test_pairs_that_share_a_window_are_counted_once() -> None:
    pairs = [make_pair(REMOVED, "verified", windows) for windows in ("abcdef", "defghi", "ghijkl")]
    assert count_independent(pairs) == 2
    assert count_independent(pairs[:2]) == 1


def test_table_counts_outcomes_reasons_and_starts() -> None:
    reason = replace(make_pair(REMOVED, "no_conclusion"), reasons=["verify.unlike_load", "verify.note"])
    starts = [
        PlayedStart(
            "dns-slow", 1, pairs=[make_pair(REMOVED, "verified"), reason], seconds=1800.0, code="new"
        ),
        PlayedStart("dns-slow", 2, pairs=[make_pair("nothing, healthy", "worse")], equal=True),
        PlayedStart("missing-index", 3, error="RuntimeError: no answer"),
    ]
    lines = render_table(starts, "new").splitlines()
    assert "| harm | before and after | nothing, healthy | 1 | 1 | 0 | 1 | 0 | 0 | 1 | - |" in lines
    assert (
        "| harm | before and after | fault removed | 2 | 1 | 1 | 0 | 0 | 1 (unlike_load 1) | 0 | 1 |" in lines
    )
    text = "\n".join(lines)
    assert "3 pairs, false 1; 2 of them with a fault that clients measured, missed 1." in text
    assert "2 starts of 1 scenarios (dns-slow), 1 broken, 0 stopped early, 0.5 hours." in text
    assert "Verified completely by the platform: 1; judged alike here: 1." in text
    assert "Out of date: 1 starts were judged by other code." in text
    assert "Broken: missing-index, seed 3: RuntimeError: no answer" in text


def test_start_is_loaded_as_it_was_stored_and_counted_if_complete() -> None:
    start = PlayedStart("dns-slow", 1, pairs=[make_pair(REMOVED, "verified")])
    assert load_start(json.loads(json.dumps(asdict(start) | {"later": 1}))) == start
    others = [replace(start, error="broken"), replace(start, stopped=True)]
    assert count_stored([start, *others], "dns-slow") == 1
    assert count_stored([start], "missing-index") == 0
