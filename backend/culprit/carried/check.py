"""Whether a document hangs together: ids stand once, what is named is there, and verdicts rest on something.

A bundle is written by somebody else. What it says of evidence is believed only where the bundle holds that evidence, or
says itself that it was left out and why; what rules said is asked again here in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from uuid import UUID

from pydantic import ValidationError

from collectors.clock import ClockMap
from collectors.contract import Sentence
from collectors.parse.limits import ImportRefused
from culprit.carried.form import Document
from culprit.carried.form_said import PlaybookForm
from culprit.core.playbooks import check, refusals
from culprit.core.playbooks.contract import GATES, Playbook
from culprit.incidents import books
from culprit.playbooks.library import known

#: What makes a playbook one that cannot be walked. Rules and causes that are unknown here are no such thing.
_BROKEN = frozenset(
    f"playbook.{one}"
    for one in (
        "bad_id", "twice", "finding_or_look", "no_hypothesis", "no_otherwise", "no_step", "no_way", "no_way_out",
        "not_reached",
    )
)  # fmt: skip
SETTLED = frozenset({"supports", "refutes"})


def refuse(key: str, **params: str | int) -> ImportRefused:
    """A refusal in one sentence."""
    return ImportRefused(Sentence(f"carried.{key}", params))


def check_document(document: Document, held: Collection[str]) -> None:
    """Raises ImportRefused with the first thing that is wrong. `held`: the digests of the artifacts in the bundle."""
    _once(document)
    _references(document)
    _artifacts(document, held)
    steps = _steps(document)
    _clocks(document)
    _verdicts(document, steps)
    _answers(document, steps)
    _verified(document)


def _once(document: Document) -> None:
    groups: dict[str, Iterable[object]] = {
        "playbook": (one.id for one in document.playbooks),
        "hypothesis": (one.key for one in document.hypotheses),
        "waiver": (one.step for one in document.waivers),
        "step": (f"{one.step} {one.host}" for one in document.steps),
        "collector": (f"{one.collector} {one.run}" for one in document.collectors),
        "id": (
            one.id
            for many in (
                document.hosts, document.hypotheses, document.verdicts, document.pins, document.fixes,
                document.verifications, document.captures, document.runs, document.collectors, document.artifacts,
                document.profiles, document.diffs, (document.incident,),
            )
            for one in many
        ),
    }  # fmt: skip
    for what, found in groups.items():
        seen: set[object] = set()
        for one in found:
            if one in seen:
                raise refuse("twice", what=what, id=str(one)[:200])
            seen.add(one)


def _named(document: Document) -> Iterator[tuple[str, UUID | None, Collection[UUID]]]:
    """(what names it, what is named, where it has to be)."""
    hosts, runs = {one.id for one in document.hosts}, {one.id for one in document.runs}
    captures, pins = {one.id for one in document.captures}, {one.id for one in document.pins}
    collectors, fixes = {one.id for one in document.collectors}, {one.id for one in document.fixes}
    hypotheses = {one.id for one in document.hypotheses}
    for step in document.steps:
        yield from (("step", step.host, hosts), ("step", step.run, runs))
    for verdict in document.verdicts:
        yield "verdict", verdict.host, hosts
        yield from (("verdict", one, pins) for one in verdict.pins)
    for pin in document.pins:
        yield from (("pin", one, runs) for one in pin.runs)
    for outcome in document.outcomes:
        yield from (("outcome", one, pins) for one in outcome.pins)
    for fix in document.fixes:
        yield "fix", fix.hypothesis, hypotheses
        yield from (("fix", one, hosts) for one in fix.hosts)
    for asked in document.verifications:
        yield from (("verification", asked.fix, fixes), ("verification", asked.control, hosts))
        yield from (("verification", one, runs) for one in asked.before)
        yield from (("verification", one, captures) for one in (*asked.made_before, *asked.after))
    for run in document.runs:
        yield from (("run", run.capture, captures), ("run", run.host, hosts), ("run", run.fix, fixes))
    for collector in document.collectors:
        yield "collector", collector.run, runs
    for artifact in document.artifacts:
        yield from (("artifact", artifact.run, runs), ("artifact", artifact.collector, collectors))
    for profile in document.profiles:
        yield from (("profile", profile.run, runs), ("profile", profile.collector, collectors))
    profiles = {one.id for one in document.profiles}
    for diff in document.diffs:
        yield from (("diff", one, profiles) for one in (*diff.before.profiles, *diff.after.profiles))


def _references(document: Document) -> None:
    for what, one, known_ids in _named(document):
        if one is not None and one not in known_ids:
            raise refuse("dangling", what=what, id=str(one))
    runs_of = {one.id: one.run for one in document.collectors}
    parts = [
        *((one.collector, one.run) for one in document.artifacts),
        *((one.collector, one.run) for one in document.profiles),
    ]
    for collector, run in parts:
        if collector is not None and runs_of[collector] != run:
            raise refuse("dangling", what="artifact", id=str(collector))


def _artifacts(document: Document, held: Collection[str]) -> None:
    named = {one.sha256 for one in document.artifacts if one.left_out is None}
    for one in sorted(named.difference(held)):
        raise refuse("dangling", what="artifact", id=one)
    for one in sorted(set(held).difference(named)):
        raise refuse("unused", id=one)


def _playbook(one: PlaybookForm) -> Playbook:
    if books.digest_of(one.content) != one.digest:
        raise refuse("playbook", id=one.id, why="digest")
    try:
        playbook = books.kept(one.content, one.digest)
    except (ValidationError, RecursionError):
        raise refuse("playbook", id=one.id, why="form") from None
    if playbook.id != one.id:
        raise refuse("playbook", id=one.id, why="id")
    for problem in check.problems(playbook, known()):
        if problem.what.key in _BROKEN:
            raise refuse("playbook", id=one.id, why=problem.where[:200])
    return playbook


def _steps(document: Document) -> dict[str, str]:
    """All steps of the playbooks by key, with their rules; every step and hypothesis that is named is one of them."""
    steps: dict[str, str] = {}
    hypotheses: set[str] = set()
    for playbook in map(_playbook, document.playbooks):
        steps.update({f"{playbook.id}/{one.id}": one.finding for one in playbook.steps})
        hypotheses.update(f"{playbook.id}/{one.id}" for one in playbook.hypotheses)
    own = [one.key for one in document.hypotheses if one.key.startswith(f"{books.OWN}/")]
    steps.update(dict.fromkeys(own, ""))
    hypotheses.update(own)
    named: tuple[tuple[str, list[str], Collection[str]], ...] = (
        ("step", [one.step for one in document.steps], steps),
        ("step", [one.step for one in document.verdicts], steps),
        ("step", [one.step for one in document.waivers], steps),
        ("verdict", [one.about for one in document.verdicts], {*hypotheses, *GATES}),
        ("hypothesis", [one.key for one in document.hypotheses], hypotheses),
    )
    for what, keys, known_keys in named:
        for key in keys:
            if key not in known_keys:
                raise refuse("dangling", what=what, id=key)
    return steps


def _clocks(document: Document) -> None:
    for run in document.runs:
        try:
            ClockMap.from_json(run.clock)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it is no clock
            raise refuse("field", where=f"runs {run.id} clock") from None


def _verdicts(document: Document, steps: Collection[str]) -> None:
    """What people say needs what the incident itself asks of them: pins, and these must show a run that is here."""
    pins = {one.id: one for one in document.pins}
    for one in document.verdicts:
        shown = [pins[pin] for pin in one.pins if pins[pin].runs]
        cited = [refusals.Cited(str(pin.id), bool(pin.said.get("collected"))) for pin in shown]
        if refusals.verdict(one.verdict, cited) is not None:
            raise refuse("no_evidence", step=one.step)


def _answers(document: Document, steps: dict[str, str]) -> None:
    """A verdict of a rule needs a run that came home and of which that very rule spoke."""
    with_bytes = {one.run for one in document.artifacts}
    spoke = {run.id: {one.rule: one.state for one in run.spoke or ()} for run in document.runs}
    people = {(one.step, one.host) for one in document.verdicts} | {
        (one.step, None) for one in document.verdicts if one.host is None
    }
    for one in document.steps:
        by_person = (one.step, one.host) in people or (one.step, None) in people
        if (one.by == "person") != by_person:
            raise refuse("no_evidence", step=one.step)
        if one.rule not in SETTLED:
            continue
        said = spoke[one.run].get(steps[one.step]) if one.run is not None else None
        if one.run not in with_bytes or said not in {"fired", "quiet"}:
            raise refuse("no_evidence", step=one.step)


def _verified(document: Document) -> None:
    for one in document.verifications:
        if one.state == "done" and not (one.result and one.after and (one.before or one.made_before)):
            raise refuse("no_evidence", step=f"verification {one.id}")
    judged = {one.fix for one in document.verifications if one.state == "done"}
    for fix in document.fixes:
        if fix.state in {"verified", "no_effect", "worse"} and fix.id not in judged:
            raise refuse("no_evidence", step=f"fix {fix.id}")
