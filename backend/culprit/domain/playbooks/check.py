"""Validation of playbooks: unknown ids, missing parts, unreachable steps and cycles without an end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from collectors.contract import Sentence
from culprit.domain.playbooks.model import (
    BRANCHES,
    END,
    GATES,
    PLAYBOOK_PREFIX,
    Playbook,
    PlaybookStep,
    Remediation,
)

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class KnownIds:
    """Ids that a playbook may use: rules, causes, numbers (metrics and measures) and other playbooks.

    `supported_causes` are the causes that a match of each rule supports, `refuted_causes` those that the state
    `not_matched` refutes. A rule of strength `context` supports no cause.
    """

    rules: Collection[str]
    supported_causes: Mapping[str, Collection[str]]
    refuted_causes: Mapping[str, Collection[str]]
    causes: Collection[str]
    numbers: Collection[str]
    playbooks: Collection[str]


@dataclass(frozen=True, slots=True)
class PlaybookProblem:
    """One error and its location, such as `steps.slow-connect.branches`."""

    location: str
    what: Sentence


def find_problems(playbook: Playbook, known: KnownIds) -> list[PlaybookProblem]:
    """Return all errors of a playbook; an empty list if it is valid."""
    return [
        *_check_ids(playbook),
        *_check_parts(playbook),
        *(problem for step in playbook.steps for problem in _check_step(playbook, step, known)),
        *_check_hypotheses(playbook, known),
        *(
            problem
            for remediation in playbook.remediations
            for problem in _check_remediation(remediation, known)
        ),
        *_check_paths(playbook),
    ]


def _build_problem(location: str, key: str, **params: str | int | float) -> PlaybookProblem:
    return PlaybookProblem(location, Sentence(f"playbook.{key}", params))


def _check_ids(playbook: Playbook) -> Iterator[PlaybookProblem]:
    groups = {
        "id": [playbook.id],
        "hypotheses": [hypothesis.id for hypothesis in playbook.hypotheses],
        "steps": [step.id for step in playbook.steps],
        "remediations": [remediation.id for remediation in playbook.remediations],
    }
    for location, ids in groups.items():
        for item_id in ids:
            if not _ID.fullmatch(item_id):
                yield _build_problem(location, "bad_id", id=item_id)
        for item_id, count in Counter(ids).items():
            if count > 1:
                yield _build_problem(location, "duplicate_id", id=item_id)


def _check_parts(playbook: Playbook) -> Iterator[PlaybookProblem]:
    if playbook.kind == "reference":
        if playbook.steps or not playbook.remediations:
            yield _build_problem("remediations", "reference_needs_remediations")
    elif not playbook.steps:
        yield _build_problem("steps", "no_steps")
    if not playbook.not_covered:
        yield _build_problem("not_covered", "no_limits")


def _check_step(playbook: Playbook, step: PlaybookStep, known: KnownIds) -> Iterator[PlaybookProblem]:
    location = f"steps.{step.id}"
    if step.about not in GATES and step.about not in {hypothesis.id for hypothesis in playbook.hypotheses}:
        yield _build_problem(f"{location}.about", "no_hypothesis", id=step.about)
    if bool(step.finding) == bool(step.instructions):
        yield _build_problem(location, "finding_or_instructions")
    if step.finding and step.finding not in known.rules:
        yield _build_problem(f"{location}.finding", "no_rule", id=step.finding)
    cause = next((hypothesis.cause for hypothesis in playbook.hypotheses if hypothesis.id == step.about), "")
    if cause and step.finding in known.rules:
        if step.matched == "supports" and cause not in known.supported_causes[step.finding]:
            yield _build_problem(f"{location}.matched", "not_supported", id=step.finding, cause=cause)
        if step.not_matched == "refutes" and cause not in known.refuted_causes[step.finding]:
            yield _build_problem(f"{location}.not_matched", "not_refuted", id=step.finding, cause=cause)
    if step.finding and step.matched == step.not_matched:
        yield _build_problem(location, "same_verdict", verdict=step.matched)
    if "otherwise" not in step.branches:
        yield _build_problem(f"{location}.branches", "no_otherwise")
    for branch, target in step.branches.items():
        if branch not in BRANCHES:
            yield _build_problem(f"{location}.branches", "unknown_branch", branch=branch)
        if target.startswith(PLAYBOOK_PREFIX):
            playbook_id = target.removeprefix(PLAYBOOK_PREFIX)
            if playbook_id not in known.playbooks:
                yield _build_problem(f"{location}.branches.{branch}", "no_playbook", id=playbook_id)
        elif target != END and target not in {step.id for step in playbook.steps}:
            yield _build_problem(f"{location}.branches.{branch}", "no_step", id=target)


def _check_hypotheses(playbook: Playbook, known: KnownIds) -> Iterator[PlaybookProblem]:
    tested = {step.about for step in playbook.steps}
    for hypothesis in playbook.hypotheses:
        location = f"hypotheses.{hypothesis.id}"
        if hypothesis.cause and hypothesis.cause not in known.causes:
            yield _build_problem(f"{location}.cause", "no_cause", id=hypothesis.cause)
        if hypothesis.primary and hypothesis.primary.read not in known.numbers:
            yield _build_problem(f"{location}.primary", "no_number", id=hypothesis.primary.read)
        if hypothesis.id not in tested:
            yield _build_problem(location, "hypothesis_not_tested")


def _check_remediation(remediation: Remediation, known: KnownIds) -> Iterator[PlaybookProblem]:
    location = f"remediations.{remediation.id}"
    for rule in remediation.findings:
        if rule not in known.rules:
            yield _build_problem(f"{location}.findings", "no_rule", id=rule)
    for cause in remediation.causes:
        if cause not in known.causes:
            yield _build_problem(f"{location}.causes", "no_cause", id=cause)
    if remediation.verifies and remediation.verifies not in known.numbers:
        yield _build_problem(f"{location}.verifies", "no_number", id=remediation.verifies)
    if remediation.command and not (remediation.risk and remediation.rollback):
        yield _build_problem(location, "no_rollback")


def _check_paths(playbook: Playbook) -> Iterator[PlaybookProblem]:
    """Find steps that no branch reaches, and steps from which no path ends."""
    if not playbook.steps:
        return
    targets = {step.id: set(step.branches.values()) for step in playbook.steps}
    reached = _collect_reachable([playbook.steps[0].id], targets)
    for step in playbook.steps:
        if step.id not in reached:
            yield _build_problem(f"steps.{step.id}", "not_reached")
    final = {
        step_id
        for step_id, next_ids in targets.items()
        if any(next_id == END or next_id.startswith(PLAYBOOK_PREFIX) for next_id in next_ids)
    }
    sources: dict[str, set[str]] = {step_id: set() for step_id in targets}
    for step_id, next_ids in targets.items():
        for next_id in next_ids & targets.keys():
            sources[next_id].add(step_id)
    ending = _collect_reachable(final, sources)
    for step_id in targets:
        if step_id in reached and step_id not in ending:
            yield _build_problem(f"steps.{step_id}", "no_end")


def _collect_reachable(start: Iterable[str], edges: Mapping[str, set[str]]) -> set[str]:
    reached, pending = set(start), list(start)
    while pending:
        for step_id in edges.get(pending.pop(), set()):
            if step_id in edges and step_id not in reached:
                reached.add(step_id)
                pending.append(step_id)
    return reached
