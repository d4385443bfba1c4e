"""What is wrong with a playbook: names that nobody knows, steps that nobody reaches, rounds without a way out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from collectors.contract import Sentence
from culprit.core.playbooks.contract import ELSEWHERE, END, GATES, WAYS, Card, Playbook, Step

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Known:
    """The names that a playbook may use: rules, causes, metrics and measures, and other playbooks.

    `speaks` are the causes that each rule speaks for when it fires, `refutes` those that its silence speaks against. A
    rule of context speaks for none: its numbers look bad and prove nothing.
    """

    rules: Collection[str]
    speaks: Mapping[str, Collection[str]]
    refutes: Mapping[str, Collection[str]]
    causes: Collection[str]
    reads: Collection[str]
    playbooks: Collection[str]


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, and where: `steps.slow-connect.then`."""

    where: str
    what: Sentence


def problems(playbook: Playbook, known: Known) -> list[Problem]:
    """Everything that keeps a playbook from being used; empty for a sound one."""
    return [
        *_names(playbook),
        *_shape(playbook),
        *(found for one in playbook.steps for found in _step(playbook, one, known)),
        *_hypotheses(playbook, known),
        *(found for one in playbook.cards for found in _card(one, known)),
        *_ways(playbook),
    ]


def _say(where: str, key: str, **params: str | int | float) -> Problem:
    return Problem(where, Sentence(f"playbook.{key}", params))


def _names(playbook: Playbook) -> Iterator[Problem]:
    groups = {
        "id": [playbook.id],
        "hypotheses": [one.id for one in playbook.hypotheses],
        "steps": [one.id for one in playbook.steps],
        "cards": [one.id for one in playbook.cards],
    }
    for where, names in groups.items():
        for name in names:
            if not _ID.fullmatch(name):
                yield _say(where, "bad_id", id=name)
        for name, count in Counter(names).items():
            if count > 1:
                yield _say(where, "twice", id=name)


def _shape(playbook: Playbook) -> Iterator[Problem]:
    if playbook.kind == "reference":
        if playbook.steps or not playbook.cards:
            yield _say("cards", "reference_is_cards")
    elif not playbook.steps:
        yield _say("steps", "no_steps")
    if not playbook.not_covered:
        yield _say("not_covered", "covers_all")


def _step(playbook: Playbook, step: Step, known: Known) -> Iterator[Problem]:
    where = f"steps.{step.id}"
    if step.about not in GATES and step.about not in {one.id for one in playbook.hypotheses}:
        yield _say(f"{where}.about", "no_hypothesis", id=step.about)
    if bool(step.finding) == bool(step.look):
        yield _say(where, "finding_or_look")
    if step.finding and step.finding not in known.rules:
        yield _say(f"{where}.finding", "no_rule", id=step.finding)
    cause = next((one.cause for one in playbook.hypotheses if one.id == step.about), "")
    if cause and step.finding in known.rules:
        if step.fired == "supports" and cause not in known.speaks[step.finding]:
            yield _say(f"{where}.fired", "no_evidence", id=step.finding, cause=cause)
        if step.quiet == "refutes" and cause not in known.refutes[step.finding]:
            yield _say(f"{where}.quiet", "no_refutal", id=step.finding, cause=cause)
    if step.finding and step.fired == step.quiet:
        yield _say(where, "same_either_way", verdict=step.fired)
    if "otherwise" not in step.then:
        yield _say(f"{where}.then", "no_otherwise")
    for way, to in step.then.items():
        if way not in WAYS:
            yield _say(f"{where}.then", "no_way", way=way)
        if to.startswith(ELSEWHERE):
            if to.removeprefix(ELSEWHERE) not in known.playbooks:
                yield _say(f"{where}.then.{way}", "no_playbook", id=to.removeprefix(ELSEWHERE))
        elif to != END and to not in {one.id for one in playbook.steps}:
            yield _say(f"{where}.then.{way}", "no_step", id=to)


def _hypotheses(playbook: Playbook, known: Known) -> Iterator[Problem]:
    asked = {one.about for one in playbook.steps}
    for one in playbook.hypotheses:
        where = f"hypotheses.{one.id}"
        if one.cause and one.cause not in known.causes:
            yield _say(f"{where}.cause", "no_cause", id=one.cause)
        if one.primary and one.primary.read not in known.reads:
            yield _say(f"{where}.primary", "no_number", id=one.primary.read)
        if one.id not in asked:
            yield _say(where, "never_asked")


def _card(card: Card, known: Known) -> Iterator[Problem]:
    where = f"cards.{card.id}"
    for name in card.findings:
        if name not in known.rules:
            yield _say(f"{where}.findings", "no_rule", id=name)
    for name in card.causes:
        if name not in known.causes:
            yield _say(f"{where}.causes", "no_cause", id=name)
    if card.verifies and card.verifies not in known.reads:
        yield _say(f"{where}.verifies", "no_number", id=card.verifies)
    if card.command and not (card.risk and card.back):
        yield _say(where, "no_way_back")


def _ways(playbook: Playbook) -> Iterator[Problem]:
    """Steps that nobody reaches, and steps from which no way leads out."""
    if not playbook.steps:
        return
    to = {one.id: set(one.then.values()) for one in playbook.steps}
    reached = _closure([playbook.steps[0].id], to)
    for one in playbook.steps:
        if one.id not in reached:
            yield _say(f"steps.{one.id}", "not_reached")
    out = {name for name, ways in to.items() if any(way == END or way.startswith(ELSEWHERE) for way in ways)}
    backwards: dict[str, set[str]] = {name: set() for name in to}
    for name, ways in to.items():
        for way in ways & to.keys():
            backwards[way].add(name)
    free = _closure(out, backwards)
    for name in to:
        if name in reached and name not in free:
            yield _say(f"steps.{name}", "no_way_out")


def _closure(begin: Iterable[str], to: Mapping[str, set[str]]) -> set[str]:
    seen, todo = set(begin), list(begin)
    while todo:
        for one in to.get(todo.pop(), set()):
            if one in to and one not in seen:
                seen.add(one)
                todo.append(one)
    return seen
