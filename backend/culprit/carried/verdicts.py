"""What rules, steps and hypotheses said where a bundle was written, beside what they say here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.core.rules.registry import RULES
from culprit.incidents.load import Loaded
from culprit.models import Evaluation, Finding

Json = dict[str, Any]
LOUDEST = ("fired", "inconclusive", "quiet")
#: So many differences are kept; more of them say no more.
MOST_TOLD = 200
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Saying:
    """One verdict: of a rule about a run, of a step about a host, of the evidence about a hypothesis."""

    kind: str
    about: str
    on: str
    value: str


@cache
def rules_digest() -> str:
    """The SHA-256 of the rules of this release, by what they read and where they fire."""
    told = "\n".join(_ADDRESS.sub("", repr(RULES[name])) for name in sorted(RULES))
    return hashlib.sha256(told.encode()).hexdigest()


def spoke(session: Session, run_ids: Collection[UUID]) -> dict[UUID, dict[str, tuple[str, int]]]:
    """By run that was evaluated: of each rule that spoke its loudest word, and of how many subjects."""
    said: dict[UUID, list[tuple[str, str]]] = {}
    query = select(Evaluation.run_id, Evaluation.quiet).where(Evaluation.run_id.in_(run_ids))
    for run_id, quiet in session.execute(query):
        said[run_id] = [(str(one["rule"]), "quiet") for one in quiet]
    found = select(Finding.run_id, Finding.rule, Finding.state).where(Finding.run_id.in_(run_ids))
    for run_id, rule, state in session.execute(found):
        said.setdefault(run_id, []).append((rule, state))
    return {run_id: _loudest(words) for run_id, words in said.items()}


def _loudest(words: list[tuple[str, str]]) -> dict[str, tuple[str, int]]:
    by_rule: dict[str, list[str]] = {}
    for rule, state in words:
        by_rule.setdefault(rule, []).append(state)
    return {
        rule: next((one, states.count(one)) for one in LOUDEST if one in states)
        for rule, states in sorted(by_rule.items())
    }


def sayings(loaded: Loaded, spoken: Mapping[UUID, Mapping[str, tuple[str, int]]]) -> Iterator[Saying]:
    """Everything that is compared of an incident as it stands."""
    for run_id, by_rule in spoken.items():
        for rule, (state, subjects) in by_rule.items():
            yield Saying("rule", rule, str(run_id), f"{state} {subjects}")
    for walked in loaded.walks:
        for name, answers in walked.hosts.items():
            for one in answers:
                yield Saying("step", walked.key(name), one.host, one.answer.verdict)
    for hypothesis in loaded.hypotheses:
        yield Saying("hypothesis", hypothesis.key, "", loaded.stand(hypothesis.key).standing)


def expected(found: Collection[Saying], why: Mapping[str, str], rules: str) -> Json:
    """What is kept until it can be compared. `why`: by run, host or step, what could make it differ."""
    return {
        "rules": rules,
        "why": dict(why),
        "said": [[one.kind, one.about, one.on, one.value] for one in found],
    }


def compare(kept: Json, here: Collection[Saying]) -> Json:
    """{"rule", "step", "hypothesis": {"equal", "total"}, "different": [{kind, about, on, there, here, why}]}.

    What nobody said there and somebody says here differs, too; rules that were not asked on either side are no verdict.
    """
    there = {(kind, about, on): value for kind, about, on, value in kept["said"]}
    now = {(one.kind, one.about, one.on): one.value for one in here}
    counts = {kind: {"equal": 0, "total": 0} for kind in ("rule", "step", "hypothesis")}
    different: list[Json] = []
    for key in sorted({*there, *now}):
        kind, about, on = key
        counts[kind]["total"] += 1
        if there.get(key) == now.get(key):
            counts[kind]["equal"] += 1
            continue
        different.append(
            {
                "kind": kind, "about": about, "on": on, "there": there.get(key), "here": now.get(key),
                "why": _why(kept, kind, about, on),
            }
        )  # fmt: skip
    return {**counts, "different": different[:MOST_TOLD], "unequal": len(different)}


def _why(kept: Json, kind: str, about: str, on: str) -> str:
    """The likeliest reason, the nearest one first."""
    known: Mapping[str, str] = kept["why"]
    found = known.get(f"{about} {on}") or known.get(on) or (known.get("") if kind == "hypothesis" else None)
    if found is None and kept["rules"] != rules_digest():
        return "rules"
    return found or "unknown"
