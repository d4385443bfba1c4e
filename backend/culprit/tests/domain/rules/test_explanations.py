"""The graph of explanations: no unknown cause, no circle that is not declared, pairs are decided, and it is transitive."""

from __future__ import annotations

from itertools import combinations

import pytest
from culprit.domain.rules.measures.service_time.activities import AMBIGUOUS, BUSY
from culprit.domain.rules.ranking.explanations import (
    EXCLUSIONS,
    MUTUAL_PAIRS,
    Exclusion,
    MutualPair,
    build_graph,
    find_cycle,
    list_unknown_ids,
)
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.tests.domain.rules.test_rank import cause, make_finding, names, ranking, rule

REVERSING = sorted({rule for pair in MUTUAL_PAIRS for rule in (*pair.reversed_by, *pair.kept_by)})


def test_every_explained_cause_exists() -> None:
    assert list_unknown_ids(build_graph(CAUSES)) == ()
    assert list_unknown_ids(build_graph({"a": cause("a", explains=("gone",))})) == ("gone",)


def test_pairs_name_causes_and_rules_that_exist() -> None:
    assert {name for pair in MUTUAL_PAIRS for name in (pair.first, pair.second)} <= CAUSES.keys()
    assert set(REVERSING) <= RULES.keys()


@pytest.mark.parametrize(
    "matched", [case for size in range(len(REVERSING) + 1) for case in combinations(REVERSING, size)]
)
def test_declared_graph_has_no_circle(matched: tuple[str, ...]) -> None:
    """However the pairs are decided."""
    for order in (list(CAUSES), list(reversed(CAUSES))):
        assert find_cycle(build_graph(CAUSES, order, matched)) == ()


def test_circle_is_listed() -> None:
    ring = {
        name: cause(name, explains=(below,))
        for name, below in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"))
    }
    assert find_cycle(build_graph(ring)) == ("a", "b", "c")


def test_mechanisms_are_activities() -> None:
    for item in CAUSES.values():
        assert set(item.mechanisms) <= BUSY | AMBIGUOUS | {"client"}, item.id


@pytest.mark.parametrize(
    ("matched", "above"), [((), "a"), (("R9",), "b"), (("R9", "R8"), "a"), (("R8",), "a")]
)
def test_pair_is_decided_by_a_rule(matched: tuple[str, ...], above: str) -> None:
    causes = {name: cause(name) for name in "ab"}
    graph = build_graph(causes, ["b", "a"], matched, [MutualPair("a", "b", ("R9",), ("R8",))])
    below = "b" if above == "a" else "a"
    assert graph.is_explained_by(below, above)
    assert not graph.is_explained_by(above, below)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_pair_without_rules_is_decided_by_order(order: str) -> None:
    causes = {name: cause(name) for name in "ab"}
    graph = build_graph(causes, list(order), (), [MutualPair("a", "b")])
    assert graph.is_explained_by(order[1], order[0])


def test_explanation_goes_through_causes_that_are_not_named() -> None:
    rules = [rule("R1", "disk"), rule("R2", "workers")]
    causes = [cause("disk", explains=("lock",)), cause("lock", explains=("workers",)), cause("workers")]
    result = ranking([make_finding(item) for item in rules], rules, causes)
    assert names(result) == [("disk", "likely")]
    assert result.causes[0].explains == ("workers",)


def test_queue_explains_closed_connections_unless_open_files_run_out() -> None:
    named = [
        make_finding(RULES["F-NET-ACCEPT-STANDING"], pid="7"), make_finding(RULES["F-TCP-CLOSE-WAIT"], pid="7")
    ]  # fmt: skip
    result = ranking(named, RULES.values(), CAUSES.values())
    assert [item.cause for item in result.causes] == ["worker-pool-exhausted"]
    leak = [*named, make_finding(RULES["F-FD-LEAK"], pid="7")]
    result = ranking(leak, RULES.values(), CAUSES.values())
    assert [item.cause for item in result.causes][0] == "fd-leak-close-wait"


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("disk-saturation", "lock-contention"),
        ("lock-contention", "worker-pool-exhausted"),
        ("disk-saturation", "listen-queue-overflow"),
        ("idle-in-transaction", "database-lock-wait"),
        ("memcg-oom-kill", "slow-dependency"),
        ("worker-pool-exhausted", "fd-leak-close-wait"),
    ],
)
def test_known_chains_are_declared(above: str, below: str) -> None:
    assert build_graph(CAUSES).is_explained_by(below, above)


@pytest.mark.parametrize("exclusion", EXCLUSIONS, ids=lambda item: item.consequence)
def test_an_exclusion_takes_edges_that_exist(exclusion: Exclusion) -> None:
    assert exclusion.rule in RULES
    before, after = build_graph(CAUSES), build_graph(CAUSES, (), {exclusion.rule})
    for name in exclusion.causes:
        assert exclusion.consequence in before.edges[name], name
        assert exclusion.consequence not in after.edges[name], name


def test_a_neighbor_explains_no_queue_that_empties() -> None:
    """Bursts fill a short queue on a busy host too, and a longer queue repairs it."""
    named = [
        make_finding(RULES["F-NET-LISTEN-OVERFLOW"]), make_finding(RULES["F-SCHED-NEIGHBOUR"], pid="7")
    ]  # fmt: skip
    assert [item.cause for item in ranking(named, RULES.values(), CAUSES.values()).causes] == [
        "cpu-neighbour-contention"
    ]
    emptied = [*named, make_finding(RULES["F-NET-QUEUE-EMPTIES"], pid="7")]
    causes = ranking(emptied, RULES.values(), CAUSES.values()).causes
    assert [(item.cause, item.confidence) for item in causes] == [
        ("listen-queue-overflow", "likely"),
        ("cpu-neighbour-contention", "possible"),
    ]


def test_lookups_that_were_seen_to_wait_explain_those_that_a_log_reports_as_failed() -> None:
    """A resolver that gives up writes the same words as for an error of the server."""
    logged, waiting = (
        make_finding(RULES["F-LOG-NAMES-FAIL"]),
        make_finding(RULES["F-DNS-UNANSWERED"], pid="7"),
    )
    result = ranking([logged, waiting], RULES.values(), CAUSES.values())
    assert names(result) == [("slow-name-resolution", "likely")]
    assert result.causes[0].explains == ("failing-name-resolution",)
    for others in ((), (waiting,)):
        errors = [logged, *others, make_finding(RULES["F-DNS-SERVER-FAILS"])]
        result = ranking(errors, RULES.values(), CAUSES.values())
        assert names(result) == [("failing-name-resolution", "likely")]
    # A validation that fails takes time too, but no query is left without an answer.
    slow = make_finding(RULES["F-TIME-DNS"], pid="7")
    result = ranking([logged, slow], RULES.values(), CAUSES.values())
    assert names(result) == [("failing-name-resolution", "likely")]


def test_a_file_system_without_inodes_explains_the_message_that_no_space_is_left() -> None:
    """ENOSPC is the answer of the kernel to both."""
    logged, inodes = make_finding(RULES["F-LOG-SPACE-FULL"]), make_finding(RULES["F-FS-INODES"], mount="/srv")
    result = ranking([logged, inodes], RULES.values(), CAUSES.values())
    assert names(result) == [("inodes-exhausted", "likely")]
    for name in ("F-FS-FULL", "F-FS-NEARLY-FULL"):
        both = [logged, inodes, make_finding(RULES[name], mount="/data")]
        named = {item.cause for item in ranking(both, RULES.values(), CAUSES.values()).causes}
        assert named == {"inodes-exhausted", "disk-full"}
