"""Compare the original verdicts of rules, steps and hypotheses with the local ones."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.domain.rules.registry import RULES
from culprit.incidents.records.snapshot import IncidentSnapshot
from culprit.incidents.transfer import queries
from culprit.json_types import Json

STATES_BY_STRENGTH = ("matched", "inconclusive", "not_matched")
#: Maximum number of stored differences.
MAX_DIFFERENCES = 200
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """A verdict: of a rule on a run, of a step on a host, or the status of a hypothesis."""

    kind: str
    about: str
    on: str
    value: str


@cache
def compute_rules_digest() -> str:
    """Return the SHA-256 of the rules of this release, by their inputs and conditions."""
    text = "\n".join(_ADDRESS.sub("", repr(RULES[name])) for name in sorted(RULES))
    return hashlib.sha256(text.encode()).hexdigest()


def load_rule_verdicts(session: Session, run_ids: Collection[UUID]) -> dict[UUID, dict[str, tuple[str, int]]]:
    """Return by evaluated run and rule the strongest state, and its number of subjects."""
    states: dict[UUID, list[tuple[str, str]]] = {}
    for run_id, not_matched in queries.list_not_matched(session, run_ids):
        states[run_id] = [(str(item["rule"]), "not_matched") for item in not_matched]
    for run_id, rule, state in queries.list_finding_states(session, run_ids):
        states.setdefault(run_id, []).append((rule, state))
    return {run_id: _select_strongest(pairs) for run_id, pairs in states.items()}


def _select_strongest(pairs: list[tuple[str, str]]) -> dict[str, tuple[str, int]]:
    by_rule: dict[str, list[str]] = {}
    for rule, state in pairs:
        by_rule.setdefault(rule, []).append(state)
    return {
        rule: next((state, states.count(state)) for state in STATES_BY_STRENGTH if state in states)
        for rule, states in sorted(by_rule.items())
    }


def list_verdicts(
    snapshot: IncidentSnapshot, rule_verdicts: Mapping[UUID, Mapping[str, tuple[str, int]]]
) -> Iterator[VerdictRecord]:
    """Yield the current verdicts of an incident."""
    for run_id, by_rule in rule_verdicts.items():
        for rule, (state, subjects) in by_rule.items():
            yield VerdictRecord("rule", rule, str(run_id), f"{state} {subjects}")
    for walked in snapshot.playbook_walks:
        for name, answers in walked.hosts.items():
            for answer in answers:
                yield VerdictRecord("step", walked.key(name), answer.host, answer.answer.verdict)
    for hypothesis in snapshot.hypotheses:
        yield VerdictRecord(
            "hypothesis", hypothesis.key, "", snapshot.get_hypothesis_state(hypothesis.key).status
        )


def build_expected(verdict_records: Collection[VerdictRecord], why: Mapping[str, str], rules: str) -> Json:
    """Build the verdicts to compare later. `why`: known reasons for differences by run, host or step."""
    return {
        "rules": rules,
        "why": dict(why),
        "verdicts": [
            [verdict_record.kind, verdict_record.about, verdict_record.on, verdict_record.value]
            for verdict_record in verdict_records
        ],
    }


def compare_verdicts(stored: Json, local: Collection[VerdictRecord]) -> Json:
    """Return counts of {"equal", "total"} by kind, "differences" and "difference_count".

    A difference has {kind, about, on, original, local, why}. A verdict on one side only is a difference. Rules that
    were not evaluated on either side are no verdict.
    """
    original_values = {(kind, about, on): value for kind, about, on, value in stored["verdicts"]}
    local_values = {(item.kind, item.about, item.on): item.value for item in local}
    counts = {kind: {"equal": 0, "total": 0} for kind in ("rule", "step", "hypothesis")}
    differences: list[Json] = []
    for key in sorted({*original_values, *local_values}):
        kind, about, on = key
        counts[kind]["total"] += 1
        if original_values.get(key) == local_values.get(key):
            counts[kind]["equal"] += 1
            continue
        differences.append(
            {
                "kind": kind, "about": about, "on": on, "original": original_values.get(key),
                "local": local_values.get(key),
                "why": _find_reason(stored, kind, about, on),
            }
        )  # fmt: skip
    return {**counts, "differences": differences[:MAX_DIFFERENCES], "difference_count": len(differences)}


def _find_reason(stored: Json, kind: str, about: str, on: str) -> str:
    """Return the most likely reason, the most specific one first."""
    known: Mapping[str, str] = stored["why"]
    result = known.get(f"{about} {on}") or known.get(on) or (known.get("") if kind == "hypothesis" else None)
    if result is None and stored["rules"] != compute_rules_digest():
        return "rules"
    return result or "unknown"
