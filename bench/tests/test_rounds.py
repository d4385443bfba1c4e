"""Rating, storage and tables of rounds."""

from dataclasses import asdict, replace

import pytest

from bench.accuracy.rounds import Round, find_first_right, load_round, record_round
from bench.accuracy.score_table import render_markdown, render_tables

FAULT = Round("disk-full", "fault", 7, ["disk-full"], software=["postgresql"])
HEALTHY = Round("busy-web", "healthy", 8, [])


@pytest.mark.parametrize(
    ("named", "top1", "top3", "wrong", "possible"),
    [
        ([("disk-full", "likely")], True, True, [], []),
        ([("memory-leak", "possible"), ("disk-full", "likely")], False, True, [], ["memory-leak"]),
        ([("memory-leak", "likely")], False, False, ["memory-leak"], []),
        ([], False, False, [], []),
    ],
)
def test_answer_of_a_fault(named, top1, top3, wrong, possible) -> None:
    item = replace(FAULT, named=named)
    assert (item.top1, item.top3, item.wrong_likely, item.wrong_possible) == (top1, top3, wrong, possible)


def test_answer_of_a_healthy_host_may_name_possible_causes_only() -> None:
    assert replace(HEALTHY, named=[("memory-leak", "possible")]).top1
    assert not replace(HEALTHY, named=[("memory-leak", "likely")]).top1


def test_broken_round_is_never_right() -> None:
    broken = replace(HEALTHY, error="no answer")
    assert not (broken.top1 or broken.top3 or broken.all_named or broken.is_correct)


def test_round_is_loaded_as_it_was_stored_without_unknown_keys() -> None:
    item = replace(FAULT, named=[("disk-full", "likely")], nulls={"silent": ""})
    assert load_round({**asdict(item), "later": 1}) == item


def test_null_models_are_right_where_they_name_the_truth_or_nothing() -> None:
    fault = record_round(replace(FAULT, nulls={"largest-number": "disk-full", "busiest-resource": ""}))
    assert fault["nulls_right"] == ["largest-number"]
    healthy = record_round(replace(HEALTHY, nulls={"largest-number": "disk-full", "busiest-resource": ""}))
    assert healthy["nulls_right"] == ["silent", "busiest-resource"]


def test_tables_have_a_row_for_each_kind_and_software() -> None:
    rows = render_tables(
        [record_round(replace(FAULT, named=[("disk-full", "likely")])), record_round(HEALTHY)]
    )
    assert [row.split("|")[1].strip() for row in rows if "|" in row] == [
        "scenario", "---", "**fault**", "**healthy**", "**all**", "scenario", "---", "postgresql",
    ]  # fmt: skip


def test_batch_of_other_rules_is_marked_out_of_date() -> None:
    batch = {"options": "--seed 1", "planned": 1, "rounds": [record_round(FAULT)], "rules": "abc"}
    assert "**Out of date**" not in render_markdown([batch], "abc")
    assert "**Out of date**" in render_markdown([batch], "def")


def test_time_to_the_cause_counts_from_the_stage_since_which_it_stayed_first() -> None:
    def stage(seconds: float, *names: str) -> dict[str, object]:
        return {
            "named": [{"cause": name, "confidence": "likely"} for name in names],
            "named_after_s": seconds,
        }

    stages = [stage(11.0, "a", "b"), stage(24.0, "b"), stage(36.0, "a", "b")]
    assert find_first_right(stages, ["a"]) == 36.0
    assert find_first_right([stage(11.0, "a"), stage(24.0, "a")], ["a", "c"]) == 11.0
    assert find_first_right(stages, ["b"]) is None
    assert find_first_right([stage(11.0), {"named": None, "named_after_s": None}], ["a"]) is None
