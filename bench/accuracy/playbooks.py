"""Count the verdicts of all playbooks over all test texts of the rules.

    ./culprit bench playbooks

For each playbook it prints the number of steps, of steps that a rule answers and of steps that a person answers, the
verdicts over captured and handwritten texts, and the time of one evaluation. Every step with a rule should reach both
its verdict for a match and its verdict for no match.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from culprit.analysis.playbooks.library import load_catalog
from culprit.domain.playbooks.engine import answer_step, evaluate_playbook, propose_step
from culprit.domain.playbooks.model import Playbook
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.registry import RULES
from culprit.tests.domain.rules.test_seeds import STEPS, TEXTS, view

from collectors.contract import Tier

VERDICTS = ("supports", "refutes", "inconclusive", "not_collected")
WALKS = 20


def _build_findings() -> dict[str, list[Sequence[Finding]]]:
    """Return the finding of each rule for each of its texts."""
    findings: dict[str, list[Sequence[Finding]]] = defaultdict(list)
    for _, step in STEPS:
        if TEXTS & step.keys():
            findings[step["rule"]].append(evaluate_rules([RULES[step["rule"]]], view(step)))
    return findings


def _count_verdicts(book: Playbook, findings: dict[str, list[Sequence[Finding]]]) -> tuple[Counter[str], int]:
    """Return the verdicts of all steps over all texts, and the number of steps that did not reach both verdicts."""
    counts: Counter[str] = Counter()
    lacking = 0
    for step in book.steps:
        if step.finding:
            verdicts = Counter(str(answer_step(step, item, RULES).verdict) for item in findings[step.finding])
            lacking += not (verdicts[step.matched] and verdicts[step.not_matched])
            counts += verdicts
    return counts, lacking


def _measure_walk_ms(book: Playbook, findings: Sequence[Finding]) -> float:
    """Return the median time of an evaluation and a proposal in milliseconds."""
    times = []
    for _ in range(WALKS):
        began = time.perf_counter()
        propose_step(book, evaluate_playbook(book, findings, RULES), RULES, frozenset(Tier))
        times.append(1000 * (time.perf_counter() - began))
    return sorted(times)[WALKS // 2]


def main() -> int:
    """Print the table. Return 1 if a step did not reach both of its verdicts."""
    message = _build_findings()
    everything = [item for result in message.values() for item in result[0]]
    texts = sum(len(item) for item in message.values())
    print(f"{len(load_catalog())} playbooks, {len(message)} rules over {texts} texts")
    head = "| playbook | kind | steps | by a rule | by a person | " + " | ".join(VERDICTS)
    print(f"{head} | walk ms |")
    print("|---|---|--:|--:|--:|" + "--:|" * (len(VERDICTS) + 1))
    missing = 0
    total: Counter[str] = Counter()
    for name, book in sorted(load_catalog().items()):
        counts, lacking = _count_verdicts(book, message)
        missing += lacking
        total += counts
        ruled = sum(bool(step.finding) for step in book.steps)
        steps = f"{len(book.steps)} | {ruled} | {len(book.steps) - ruled}"
        numbers = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
        walk_ms = f"{_measure_walk_ms(book, everything):.2f}" if book.steps else "-"
        print(f"| {name} | {book.kind} | {steps} | {numbers} | {walk_ms} |")
    print("| all | | | | | " + " | ".join(str(total[verdict]) for verdict in VERDICTS) + " | |")
    print(f"steps that did not come to both of their verdicts: {missing}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
