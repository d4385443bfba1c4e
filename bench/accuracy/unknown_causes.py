"""Replay each faulty round with a catalog without its true causes, and list the causes that are named instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes
from culprit.domain.rules.ranking.explanations import build_graph
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.rule import Rule

#: Maximum number of rows of the table; the others are summed.
MAX_ROWS = 30


@dataclass(frozen=True, slots=True)
class UnknownCauseAnswer:
    """The likely causes of a round whose true causes are unknown, each with the rules that support it.

    `wrong` are the causes without a link to the truth in the graph of explanations; `consequences` have a link: a true
    cause explains them, so they are real.
    """

    truth: tuple[str, ...]
    wrong: Mapping[str, tuple[str, ...]]
    consequences: Mapping[str, tuple[str, ...]]


def answer_without_truth(
    truth: Collection[str],
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    times: ServiceTimes,
) -> UnknownCauseAnswer:
    """Return the likely causes of a round with a catalog that lacks its true causes.

    Rules that only refer to removed causes are removed too: without the cause, they would not exist to refute another
    finding. References of other rules to removed causes are removed, so that they neither support nor refute others.
    """
    known_rules, known_causes = remove_causes(truth, rules, causes)
    known_findings = [item for item in findings if item.rule in known_rules]
    ranking = rank_causes(known_findings, known_rules, known_causes, times)
    graph = build_graph(causes)
    likely = {
        item.cause: tuple(sorted({finding.rule for finding in item.evidence}))
        for item in ranking.causes
        if item.confidence == "likely"
    }
    linked = {name for name in likely if any(graph.is_explained_by(name, cause) for cause in truth)}
    return UnknownCauseAnswer(
        tuple(sorted(truth)),
        {name: support for name, support in likely.items() if name not in linked},
        {name: support for name, support in likely.items() if name in linked},
    )


def remove_causes(
    removed: Collection[str], rules: Mapping[str, Rule], causes: Mapping[str, Cause]
) -> tuple[dict[str, Rule], dict[str, Cause]]:
    """Return the catalog without these causes, as if they had never been written."""

    def keep(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in removed)

    known_causes = {
        name: replace(cause, explains=keep(cause.explains))
        for name, cause in causes.items()
        if name not in removed
    }
    known_rules = {
        name: replace(
            rule, causes=keep(rule.causes), suspects=keep(rule.suspects), refutes=keep(rule.refutes)
        )
        for name, rule in rules.items()
        if not rule.causes or keep(rule.causes)
    }
    return known_rules, known_causes


def render_unknown_causes(answers: Sequence[UnknownCauseAnswer]) -> list[str]:
    """Return the sums and a table of the causes by the number of rounds in which they are likely, the worst first."""
    wrong = [item for item in answers if item.wrong]
    linked = [item for item in answers if item.consequences and not item.wrong]
    silent = len(answers) - len(wrong) - len(linked)
    rounds = Counter((name, "wrong") for item in answers for name in item.wrong)
    rounds += Counter((name, "consequence") for item in answers for name in item.consequences)
    rows = sorted(rounds.items(), key=lambda row: (row[0][1] != "wrong", -row[1], row[0]))
    lines = [
        f"Without the true causes, in {len(answers)} faulty rounds: a cause that is not linked to the truth is likely "
        f"in {len(wrong)}, a consequence of the truth alone in {len(linked)}, none in {silent}.",
        "",
        "| likely | as | rounds | true causes | by rules |",
        "|---|---|--:|---|---|",
    ]
    for (name, role), count in rows[:MAX_ROWS]:
        support = [
            (item.truth, by)
            for item in answers
            if (by := (item.wrong if role == "wrong" else item.consequences).get(name)) is not None
        ]
        truth = _count_names(cause for causes, _ in support for cause in causes)
        lines.append(
            f"| {name} | {role} | {count} | {truth} | {_count_names(r for _, by in support for r in by)} |"
        )
    if rows[MAX_ROWS:]:
        lines.append(f"| {len(rows) - MAX_ROWS} more | | {sum(count for _, count in rows[MAX_ROWS:])} | | |")
    return lines


def _count_names(names: Iterable[str], limit: int = 5) -> str:
    counts = sorted(Counter(names).items(), key=lambda row: (-row[1], row[0]))
    parts = [f"{name} {count}" if count > 1 else name for name, count in counts[:limit]]
    return ", ".join([*parts, *(["…"] if counts[limit:] else [])])
